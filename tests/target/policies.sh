#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every way of polling in the target against every way of waiting in the engine,
# at once and with a delay; what is written is read back.
. "$(dirname "$0")/../fio.sh"

for poll in off busy fixed fixed-1024 adaptive per-source weighted rate inflight hybrid; do
	for delay in none exp:20us; do
		start_target --backend ram --size 16M --poll $poll --delay $delay --num-queues 6 --iothreads 2
		fio_passes_each 1 --rw=randwrite --bs=4k --verify=crc32c --number_ios=128 <<END
--wait_mode=block --iodepth=1
--wait_mode=block --iodepth=64
--wait_mode=poll --iodepth=1
--wait_mode=poll --iodepth=64
--wait_mode=adaptive --iodepth=1
--wait_mode=adaptive --iodepth=64
END
		holds fio.json "[job['read']['total_ios'] for job in jobs] == [128] * 6"
		stop_target || fail "--poll $poll --delay $delay: status $?"
	done
done
