#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where each source has a window, the statistics show the shortest and the longest, and the
# thread's is what the policy makes of them.
. "$(dirname "$0")/../fio.sh"

# sources_have_windows EXPR: within some time, EXPR holds
sources_have_windows()
{
	target_stats now.json
	[ "$(value now.json "$1")" = True ]
}

# A limit that no wait exceeds: every window of a source with work is open.
while read -r poll expr; do
	start_target --backend null --size 16M --num-queues 2 --poll "$poll" --poll-max-ns 5s
	start_fio --rw=randread --bs=4k --iodepth=4 --time_based --runtime=30 --wait_mode=block \
		--name=fast --name=slow --rate_iops=20
	fio_runs
	wait_for 10 sources_have_windows "$expr" || fail "--poll $poll: never $expr"
	kill_fio "$fio_pid"
	stop_target
done <<'END'
per-source 0 < threads[0]['source_window_ns']['max'] == threads[0]['window_ns']['now']
weighted 0 < threads[0]['source_window_ns']['max'] <= 5 * 10**9 and threads[0]['window_ns']['now'] > 0
adaptive threads[0]['source_window_ns']['max'] == 0 and threads[0]['window_ns']['now'] > 0
END
