#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written is read back, at any depth and in any way of waiting.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 32M --num-queues 4
for depth in 1 32 256; do
	fio_passes_each 4 --rw=randwrite --bs=4k --iodepth=$depth --verify=crc32c <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
END
	holds fio.json "[job['write']['total_ios'] for job in jobs] == [1024] * 3" \
		"[job['read']['total_ios'] for job in jobs] == [1024] * 3"
done
