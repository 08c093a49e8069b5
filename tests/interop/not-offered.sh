#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# qemu-storage-daemon has no packed rings and keeps no record of requests in flight: a job
# that asks for one or the other is refused in a sentence.
. "$(dirname "$0")/../fio.sh"

requires qemu-storage-daemon --version
socket=$PWD/qemu.sock
truncate -s 16M disk
qemu-storage-daemon --blockdev driver=file,node-name=disk,filename=disk \
	--export "type=vhost-user-blk,id=x,node-name=disk,writable=on,addr.type=unix,addr.path=$socket" >qemu.log 2>&1 &
qemu=$!
cleanup_fn stop $qemu
wait_for 10 test -S "$socket" || { cat qemu.log; fail "no qemu-storage-daemon"; }
while read -r option text; do
	fio_fails "$text" "$option" --name=job --rw=randread --bs=4k --size=1m
	did_nothing || fail "$option: I/O all the same"
done <<END
--packed=1 offers no packed ring
--reconnect=1 keeps no record of requests in flight
END
fio_passes --name=job --rw=randwrite --bs=4k --size=1m --verify=crc32c
