#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# qemu-storage-daemon is killed, or stops answering: the job ends with an error.
. "$(dirname "$0")/../fio.sh"

requires qemu-storage-daemon --version
socket=$PWD/qemu.sock
truncate -s 16M disk
for signal in KILL STOP; do
	rm -f "$socket"
	qemu-storage-daemon --blockdev driver=file,node-name=disk,filename=disk \
		--export "type=vhost-user-blk,id=x,node-name=disk,addr.type=unix,addr.path=$socket" >qemu.log 2>&1 &
	qemu=$!
	cleanup_fn kill -KILL $qemu
	wait_for 10 test -S "$socket" || { cat qemu.log; fail "no qemu-storage-daemon"; }
	start_fio --name=job --rw=randread --bs=4k --iodepth=8 --time_based --runtime=60 --stuck_timeout=2
	sleep 2
	kill -$signal $qemu
	fio_ends 20
	holds fio.json "jobs[0]['error'] == {'KILL': 104, 'STOP': 110}['$signal']"
	[ "$fio_status" != 0 ] || fail "success without a device"
done
