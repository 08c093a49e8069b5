#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every fsync, fdatasync and sync_file_range of a job is a flush of the device,
# and none is made up.
. "$(dirname "$0")/../fio.sh"

# flushes EXPR ARG...: a job of 64 writes makes as many, by the target's count
flushes()
{
	local wanted=$1 seen
	shift
	start_target --backend ram --size 16M --stats stats.json
	fio_passes --name=job --rw=randwrite --bs=4k --size=256k "$@"
	stop_target
	holds stats.json "sums('requests', 'write') == 64" "sums('errors') == 0"
	seen=$(value stats.json "sums('requests', 'flush')")
	holds fio.json "$wanted == $seen"
}
flushes 0
flushes 1 --end_fsync=1
flushes 1 --fsync_on_close=1
flushes 15 --fsync=4
flushes 15 --fsync=4 --verify=crc32c
flushes 7 --fdatasync=8
flushes 7 --sync_file_range=wait_before,write:8
# At depth fio asks again until the first has completed, with any engine.
flushes "jobs[0]['sync']['total_ios']" --fsync=4 --iodepth=8
flushes "jobs[0]['sync']['total_ios'] + 1" --fsync=4 --iodepth=8 --end_fsync=1
