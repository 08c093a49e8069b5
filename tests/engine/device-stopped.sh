#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The device stops answering in the middle of a run: the job ends after
# stuck_timeout, with ETIMEDOUT.
. "$(dirname "$0")/../fio.sh"

while read -r options; do
	start_target --backend ram --size 16M --num-queues 2
	# shellcheck disable=SC2086 # options are words
	start_fio $options --stuck_timeout=1 --name=job --numjobs=2 --rw=randread --bs=4k \
		--iodepth=16 --time_based --runtime=60
	fio_runs
	kill -STOP "$target_pid"
	cleanup_fn kill -CONT "$target_pid"
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "success without a device"
	holds fio.json "[job['error'] for job in jobs] == [110, 110]" "jobs[0]['job_runtime'] < 15000"
	grep -q stuck_timeout fio.err || { said; fail "not a word of why"; }
	kill -CONT "$target_pid"
	stop_target
done <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
--wait_mode=block --iodepth_batch_complete_min=0
--wait_mode=poll --rate_iops=1000
END
# Jobs that come after find their queue unusable, or the device well again; they do not hang.
start_target --backend ram --size 16M --num-queues 1
start_fio --stuck_timeout=1 --rw=randread --bs=4k --iodepth=16 --name=one --time_based --runtime=60 \
	--name=two --stonewall --size=1m
fio_runs
kill -STOP "$target_pid"
sleep 3
kill -CONT "$target_pid"
fio_ends 15
[ "$fio_status" != 0 ] || fail "success of a run that lost requests"
holds fio.json "jobs[0]['error'] == 110"
