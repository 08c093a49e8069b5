#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A target that has nothing to do takes no CPU, and without the ram backend hardly
# any memory; no client, one that is connected, and one whose requests wait.
. "$(dirname "$0")/../fio.sh"

ticks=$(getconf CLK_TCK)
# CPU time of the target in ticks
cpu()
{
	local -a stat
	read -ra stat <"/proc/$target_pid/stat"
	echo $((stat[13] + stat[14]))
}
for poll in off fixed fixed-1024 adaptive per-source weighted rate; do
	start_target --backend null --size 1T --num-queues 4 --iothreads 2 --poll $poll \
		--poll-stop-idle 100ms --delay fixed:100s
	start_fio --name=used --rw=randread --bs=4k --iodepth=128 --numjobs=4 --time_based --runtime=60
	wait_for 10 grep -qs '^Threads:.[4-9]' "/proc/$target_pid/status"
	sleep 0.5
	before=$(cpu)
	sleep 1
	took=$(($(cpu) - before))
	((took * 100 <= ticks * 2)) || fail "--poll $poll: $took ticks of 1/$ticks s in 1 s"
	memory=$(awk '/^RssAnon:/ { print $2 }' "/proc/$target_pid/status")
	((memory < 8192)) || fail "--poll $poll: $memory KiB"
	echo "--poll $poll: $took ticks, $memory KiB"
	kill_fio "$fio_pid"
	# Without its client it drops the requests and is idle again.
	sleep 0.2
	before=$(cpu)
	sleep 1
	took=$(($(cpu) - before))
	((took * 100 <= ticks * 2)) || fail "--poll $poll, without client: $took ticks in 1 s"
	stop_target
done
