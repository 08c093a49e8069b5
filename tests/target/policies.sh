#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every way of polling in the target against every way of waiting in the engine,
# at once and with a delay; what is written is read back.
. "$(dirname "$0")/../fio.sh"

for poll in off busy fixed adaptive; do
	for delay in none exp:20us; do
		start_target --backend ram --size 16M --poll $poll --delay $delay --num-queues 2 --iothreads 2
		for mode in block poll adaptive; do
			[ $delay = none ] || [ $mode = block ] || continue
			fio_passes --wait_mode=$mode --rw=randwrite --bs=4k --verify=crc32c --number_ios=128 \
				--name=shallow --iodepth=1 --size=1m --name=deep --iodepth=64 --offset=1m --size=1m
			holds fio.json "[job['read']['total_ios'] for job in jobs] == [128, 128]"
		done
		stop_target || fail "--poll $poll --delay $delay: status $?"
	done
done
