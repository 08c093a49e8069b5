#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# qemu-storage-daemon keeps no record of requests in flight: reconnect=1 is refused in a sentence.
. "$(dirname "$0")/../fio.sh"

requires qemu-storage-daemon --version
socket=$PWD/qemu.sock
truncate -s 16M disk
qemu-storage-daemon --blockdev driver=file,node-name=disk,filename=disk \
	--export "type=vhost-user-blk,id=x,node-name=disk,writable=on,addr.type=unix,addr.path=$socket" >qemu.log 2>&1 &
qemu=$!
cleanup_fn stop $qemu
wait_for 10 test -S "$socket" || { cat qemu.log; fail "no qemu-storage-daemon"; }
fio_fails 'keeps no record of requests in flight' --reconnect=1 --name=job --rw=randread --bs=4k --size=1m
did_nothing || fail "I/O all the same"
fio_passes --name=job --rw=randwrite --bs=4k --size=1m --verify=crc32c
