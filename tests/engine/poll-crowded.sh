#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Polling jobs that outnumber their CPU yield to one another, and many of them sleep, and say so; a target that polls for ever yields.
. "$(dirname "$0")/../fio.sh"

# Without yielding each of them polls for a whole time slice for the others' requests.
start_target --backend null --size 1G --num-queues 16 --poll busy --cpus 0 --stats target.json
fio_passes --name=job --numjobs=16 --thread --cpus_allowed=0 --rw=randread --bs=4k --iodepth=4 \
	--time_based --runtime=1 --wait_mode=poll --dp_stats=stats
grep -hq '"yields": [1-9]' stats.job.*.json || fail "no job has yielded"
grep -hq '"sleeps": [1-9]' stats.job.*.json || fail "no job has slept"
stop_target
holds target.json "sums('yields') > 0"
