#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job that polls as a real-time thread, on the only CPU that its target has, lets that run. All engines that sleep.
. "$(dirname "$0")/../fio.sh"

requires chrt -f 1 true
# Polling for ever it gets what the kernel keeps for others, a twentieth of the time in one go a second.
lets_run()
{
	local job=(--name=job --cpus_allowed=0 --rw=randread --bs=4k --number_ios=1000 --wait_mode=poll --dp_stats=stats)
	local policy depth
	for policy in -f -r; do
		for depth in 1 8; do
			engine_words "${job[@]}" --iodepth=$depth
			timeout -k 5 60 chrt $policy 1 fio --output-format=json --output=fio.json "${words[@]}" >fio.err 2>&1 ||
				{ said; fail "$ENGINE: chrt $policy, depth $depth"; }
			holds fio.json "jobs[0]['read']['total_ios'] == 1000"
			holds stats.job.1.json "d['sleeps'] > 0"
		done
	done
}
ENGINES='vhost-user-blk nbd' each_engine lets_run --backend null --size 1G --cpus 0
