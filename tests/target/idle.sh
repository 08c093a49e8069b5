#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A target that has nothing to do takes no CPU, and without the ram backend hardly
# any memory; no client, one that is connected, and one whose requests wait.
. "$(dirname "$0")/../fio.sh"

for poll in off fixed fixed-1024 adaptive per-source weighted rate inflight hybrid; do
	start_target --backend null --size 1T --num-queues 4 --iothreads 2 --poll $poll \
		--poll-stop-idle 100ms --delay fixed:100s
	start_fio --name=used --rw=randread --bs=4k --iodepth=128 --numjobs=4 --time_based --runtime=60
	wait_for 10 in_flight $((4 * 128)) || fail "--poll $poll: no requests"
	sleep 0.2
	# inflight polls as long as a request is in flight: that is what it is.
	[ $poll = inflight ] || idles 20 || fail "--poll $poll takes CPU"
	memory=$(awk '/^RssAnon:/ { print $2 }' "/proc/$target_pid/status")
	((memory < 8192)) || fail "--poll $poll: $memory KiB"
	kill_fio "$fio_pid"
	# Without its client it drops the requests and is idle again.
	sleep 0.2
	idles 20 || fail "--poll $poll takes CPU without client"
	stop_target
done
