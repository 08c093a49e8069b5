#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written is read back, at any depth, in any way of waiting and of batching.
. "$(dirname "$0")/servers.sh"

serve_nbdkit memory size=64M
for depth in 1 32 256; do
	fio_passes_each 4 --rw=randrw --bs=4k --iodepth=$depth --verify=crc32c <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
--wait_mode=poll --datapath=libnbd
--wait_mode=adaptive --connections=4
--iodepth_batch_submit=8 --iodepth_batch_complete_min=4
--iodepth_batch_complete_min=0
END
	holds fio.json "all(job['read']['total_ios'] + job['write']['total_ios'] >= 1024 for job in jobs)"
done
