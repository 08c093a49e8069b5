#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# reconnect=1: the target is killed in the middle of writing and started again, several
# times; no request is lost or answered twice, and what was written is read back.
. "$(dirname "$0")/../fio.sh"

truncate -s 32M disk
new_target()
{
	start_target --backend "file:$PWD/disk" --num-queues 4 --delay exp:8ms
}

kill_target()
{
	kill -KILL "$target_pid"
	wait "$target_pid" 2>/dev/null || true
}

# killed_often HOW ARG...: fio with what HOW says of all jobs, and the target killed five times
killed_often()
{
	local how=$1 i
	shift
	new_target
	# shellcheck disable=SC2086 # words
	start_fio $how --reconnect=1 --rw=randwrite --bs=4k --size=8m --verify=crc32c \
		--iodepth=32 --dp_stats=stats "$@"
	fio_runs
	for ((i = 0; i < 5; i++)); do
		sleep 0.1
		kill_target
		# Jobs wait all the same when it takes a while.
		((i % 2)) || sleep 0.3
		new_target
	done
	fio_ends 60
	[ "$fio_status" = 0 ] || { said; cat target.err; fail "$how $*: status $fio_status"; }
	stop_target
}

for packed in 0 1; do
	for how in '' --thread; do
		killed_often "$how --packed=$packed" --name=block --wait_mode=block \
			--name=adaptive --offset=8m --wait_mode=adaptive \
			--name=poll --offset=16m --wait_mode=poll
		holds fio.json "[job['error'] for job in jobs] == [0] * 3" \
			"[job['write']['total_ios'] for job in jobs] == [2048] * 3" \
			"[job['read']['total_ios'] for job in jobs] == [2048] * 3"
		holds stats.block.1.json "d['reconnects'] == 5"
	done
done
