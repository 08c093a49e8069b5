#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's batching: everything arrives, in every combination.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 32M --num-queues 9
for mode in block poll; do
	fio_passes_each 2 --wait_mode=$mode --rw=randwrite --bs=4k --iodepth=32 --verify=crc32c <<END
--iodepth_batch=1
--iodepth_batch=32
--iodepth_batch_submit=16 --iodepth_batch_complete_max=32
--iodepth_batch_submit=8 --iodepth_batch_complete_min=8
--iodepth_batch_complete_min=32
--iodepth_batch_complete_min=0
--iodepth_batch_complete_min=1 --iodepth_batch_complete_max=4
--iodepth_low=4
--iodepth_low=16 --iodepth_batch=16 --iodepth_batch_complete_min=4 --iodepth_batch_complete_max=16
END
	holds fio.json "[job['write']['total_ios'] for job in jobs] == [512] * 9" \
		"[job['read']['total_ios'] for job in jobs] == [512] * 9"
done
# The batches that were asked for are the ones the device saw.
fio_passes --wait_mode=block --dp_stats=stats --name=job --rw=randread --bs=4k --size=4m \
	--iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16
holds stats.job.1.json "total(d['batch']) <= 100" "max(low for low, n in d['batch']) >= 12"
