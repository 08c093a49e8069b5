#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The workers of an embedded target run where fio may, not where its job is pinned to,
# nor on its iothread's CPU alone.
ENGINE=virtio-poll
. "$(dirname "$0")/../fio.sh"

cpus=$(/usr/bin/python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
read -r first second _ <<<"$cpus"
[ -n "$second" ] || skip "needs two CPUs"
taskset -p -c "$first,$second" $$ >/dev/null

# worker: the directory of a worker's task, in $task
worker()
{
	local children
	children=$(cat "/proc/$fio_pid/task/$fio_pid/children" 2>/dev/null)
	for task in /proc/"$fio_pid"/task/* ${children:+/proc/${children// /}/task/*}; do
		grep -qs '^worker0\.' "$task/comm" && return
	done
	return 1
}

for how in '' --thread; do
	# shellcheck disable=SC2086 # none or one word
	start_fio $how --transport=embedded --target='--backend null --aio threads' --cpus_allowed="$first" \
		--name=job --rw=randread --bs=4k --size=16m --time_based --runtime=60
	wait_for 10 worker || { said; fail "no worker"; }
	allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status")
	[ "$allowed" = "$first-$second" ] || [ "$allowed" = "$first,$second" ] ||
		fail "worker on $allowed, fio on $first and $second"
	kill_fio "$fio_pid"
done
