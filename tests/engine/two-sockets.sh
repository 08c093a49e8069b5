#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two devices in one run, each with what was written to it.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2
first=$socket
"$FIO_DATAPLANE/targets/vhost-user-blk-target" --socket second --backend ram --size 8M --num-queues 1 &
cleanup_fn stop $!
wait_for 10 test -S second
socket=
for how in '' --thread; do
	fio_passes $how --rw=randwrite --bs=4k --iodepth=16 --verify=crc32c \
		--name=a --socket="$first" --numjobs=2 --size=8m --offset_increment=8m --number_ios=512 \
		--name=b --socket=second --size=8m --number_ios=512
	holds fio.json "[job['error'] for job in jobs] == [0] * 3"
	fio_fails verify --name=swapped --socket="$first" --rw=read --bs=4k --size=1m --verify=pattern \
		--verify_pattern=0x5a
done
fio_fails 'past the end' --name=b --socket=second --rw=randread --bs=4k --size=16m
