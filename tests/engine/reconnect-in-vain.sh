#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# reconnect=1 with a target that takes the same requests over, dies, and comes back, again and
# again: a return without an answer is no progress, and stuck_timeout ends the job.
. "$(dirname "$0")/../fio.sh"

for options in '--wait_mode=block --iodepth=1' '--wait_mode=poll --iodepth=8 --thread'; do
	start_target --backend ram --size 8M --delay fixed:100s
	# shellcheck disable=SC2086 # options are words
	start_fio --reconnect=1 --stuck_timeout=3 --name=job --rw=randread --bs=4k --time_based --runtime=300 $options
	returns=0
	until _gone "$fio_pid"; do
		# Less often than stuck_timeout, so that each target has some of it.
		sleep 1
		kill -KILL "$target_pid"
		wait "$target_pid" 2>/dev/null || true
		start_target --backend ram --size 8M --delay fixed:100s
		returns=$((returns + 1))
		((returns < 60)) || fail "$options: goes on after $returns returns"
	done
	fio_ends 1
	[ "$fio_status" != 0 ] || fail "$options: success without answers"
	holds fio.json "jobs[0]['error'] == 110"
	grep -q 'for 3 s (stuck_timeout), although it has come back' <<<"$(said)" || { said; fail "$options: not a word of why"; }
	((returns > 1)) || fail "$options: has ended after $returns returns"
	kill -KILL "$target_pid"
	wait "$target_pid" 2>/dev/null || true
	target_pid=
done
