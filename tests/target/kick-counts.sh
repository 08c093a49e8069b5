#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Notifications received are the eventfd writes of the driver, every one, whether they woke the target or came
# while it was at work; on SIGUSR1 as well as at the end, and after a queue was stopped and started again.
. "$(dirname "$0")/../fio.sh"

sent="sum(json.load(open(p))['notifications']['sent'] for p in __import__('glob').glob('engine.*.json'))"
now_all_told()
{
	target_stats now.json
	[ "$(value now.json "sums('notifications', 'received') == $sent")" = True ]
}

while read -r poll options; do
	start_target --backend ram --size 16M --num-queues 2 --poll "$poll" --stats stats.json
	# shellcheck disable=SC2086 # options are words
	fio_passes --wait_mode=block --dp_stats=engine --name=job --numjobs=2 --rw=randread --bs=4k --number_ios=5000 $options
	wait_for 10 now_all_told || fail "$poll $options: SIGUSR1 tells of $(value now.json "sums('notifications', 'received')")"
	stop_target
	holds stats.json "sums('notifications', 'received') == $sent" \
		"0 < sums('notifications', 'noticed') <= sums('notifications', 'received')"
	rm engine.*.json stats.json
done <<END
off --iodepth=32 --event_idx=0
off --iodepth=32 --event_idx=1
off --iodepth=1 --event_idx=0 --packed=1
adaptive --iodepth=8 --event_idx=0
END
