#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written is read back, at any depth, in any way of waiting and of batching. All engines.
. "$(dirname "$0")/../fio.sh"

verified()
{
	local lines='--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
--wait_mode=hybrid
--iodepth_batch_submit=8 --iodepth_batch_complete_min=4
--iodepth_batch_complete_min=0' n=6 depth
	if [ "$ENGINE" = nbd ]; then
		lines+=$'\n--wait_mode=poll --datapath=libnbd\n--wait_mode=adaptive --connections=4'
		n=8
	fi
	for depth in 1 32 256; do
		fio_passes_each 4 --rw=randwrite --bs=4k --iodepth=$depth --verify=crc32c <<<"$lines"
		holds fio.json "[job['write']['total_ios'] for job in jobs] == [1024] * $n" \
			"[job['read']['total_ios'] for job in jobs] == [1024] * $n"
	done
}
QUEUES=6 each_engine verified --backend ram --size 32M
