#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The device or server dies in the middle of a run: the jobs end at once, with a real errno. All engines.
. "$(dirname "$0")/../fio.sh"

killed()
{
	local jobs=(--name=block --name=poll --wait_mode=poll --name=adaptive --wait_mode=adaptive --name=thread --thread) n=4
	if [ "$ENGINE" = nbd ]; then
		jobs+=(--name=four --wait_mode=adaptive --connections=4 --name=libnbd --datapath=libnbd
			--name=spin --datapath=libnbd --wait_mode=poll)
		n=7
	fi
	start_fio --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60 "${jobs[@]}"
	fio_runs
	kill -KILL "$target_pid"
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "$ENGINE: success without a peer"
	holds fio.json "[job['error'] for job in jobs] == [104] * $n"
	[ "$(grep -c 'has closed the connection' fio.err)" = $n ] || { said; fail "$ENGINE: not a word of why"; }
	! grep -q 'Unknown error' fio.err || { said; fail "an error without a name"; }
	stop_target || true
}
QUEUES=4 each_engine killed --backend ram --size 64M
