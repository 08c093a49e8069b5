#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The device or server stops answering in the middle of a run: the jobs end after stuck_timeout, with ETIMEDOUT,
# also when fio was told to end. All engines.
. "$(dirname "$0")/../fio.sh"

# stands_still: every thread of the peer does
stands_still()
{
	awk '/^State:/ && $2 != "T" { runs = 1 } END { exit runs }' "/proc/$target_pid"/task/*/status
}

# times_out JOBS [SIGNAL]: the peer stands still, and each of the jobs of $fio_pid ends of it, fio after that SIGNAL
times_out()
{
	kill -STOP "$target_pid"
	cleanup_fn kill -CONT "$target_pid"
	wait_for 10 stands_still || fail "it does not stand still"
	[ -z "${2-}" ] || kill "$2" "$fio_pid"
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "$ENGINE: success without a peer"
	holds fio.json "[job['error'] for job in jobs] == [110] * $1" "all(job['job_runtime'] < 15000 for job in jobs)"
	[ "$(grep -c stuck_timeout fio.err)" = "$1" ] || { said; fail "$ENGINE: not a word of why"; }
	kill -CONT "$target_pid"
}

stopped()
{
	local job=(--stuck_timeout=1 --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60) n=5
	local jobs=(--name=block --name=poll --wait_mode=poll --name=adaptive --wait_mode=adaptive
		--name=never --iodepth_batch_complete_min=0 --name=rate --wait_mode=poll --rate_iops=1000)
	if [ "$ENGINE" = nbd ]; then
		# Some are in the middle of a write that is larger than a socket's buffer.
		jobs+=(--name=four --wait_mode=adaptive --connections=4 --name=libnbd --datapath=libnbd
			--name=large --rw=write --bs=16m --iodepth=2)
		n=8
	fi
	start_fio "${job[@]}" "${jobs[@]}"
	fio_runs
	times_out $n
	start_fio "${job[@]}" --name=ended
	fio_runs
	times_out 1 -TERM
}
# Slow, so that there are requests in flight whenever it stops.
QUEUES=5 each_engine stopped --backend ram --size 64M --delay fixed:100ms
