#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device stops answering: the jobs that come after the one that ends of it find their queue unusable, or
# the device well again; they do not hang.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 1
start_fio --stuck_timeout=1 --rw=randread --bs=4k --iodepth=16 --name=one --time_based --runtime=60 \
	--name=two --stonewall --size=1m
fio_runs
kill -STOP "$target_pid"
cleanup_fn kill -CONT "$target_pid"
sleep 3
kill -CONT "$target_pid"
fio_ends 15
[ "$fio_status" != 0 ] || fail "success of a run that lost requests"
holds fio.json "jobs[0]['error'] == 110"
