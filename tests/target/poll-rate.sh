#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --poll rate: no kicks once they come fast enough, and none but kicks when they do not; a
# queue that has been idle for --poll-stop-idle is polled no more.
. "$(dirname "$0")/../fio.sh"

job=(--name=job --wait_mode=block --rw=randread --bs=4k --iodepth=1)

polls_no_more()
{
	target_stats now.json
	[ "$(value now.json "sums('requests', 'read') >= 500 and all(t['window_ns']['now'] == 0 for t in threads)")" = True ]
}

start_target --backend null --size 16M --poll rate --poll-stop-idle 300ms
start_fio "${job[@]}" --number_ios=501 --thinktime=4s --thinktime_blocks=500
wait_for 10 polls_no_more || fail "it polls on, though there is nothing to do"
# A pause of 300 ms because of other load would make one more.
holds now.json "0 < sums('notifications', 'received') < 50" "sums('poll_hits') > 400" \
	"sums('poll_ns') > 10**6" "threads[0]['window_ns']['max'] is None"
fio_ends 30
stop_target

start_target --backend null --size 16M --poll rate --poll-start-rate 1000000 --stats stats.json
fio_passes "${job[@]}" --number_ios=500
stop_target
# Not one each: a busy host lets the driver send before the thread is asleep again.
holds stats.json "sums('notifications', 'received') > 50" "sums('poll_hits') == 0" \
	"sums('window_ns', 'max') == 0"
