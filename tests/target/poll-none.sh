#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --poll off, and a window of 0 in the other policies, means not one polling pass.
. "$(dirname "$0")/../fio.sh"

while read -r passes options; do
	# shellcheck disable=SC2086 # options are words
	start_target --backend null --size 16M --stats stats.json $options
	fio_passes --wait_mode=block --name=job --rw=randread --bs=4k --iodepth=1 --number_ios=500
	stop_target
	holds stats.json "(sums('poll_hits') + sums('poll_misses') == 0) == ($passes == 0)" \
		"(sums('poll_ns') == 0) == ($passes == 0)" "sums('sleeps') > 0"
	[ "$passes" = 1 ] || holds stats.json "all(t['window_ns']['max'] == 0 for t in threads)"
done <<END
0 --poll off
0 --poll fixed --poll-max-ns 0
0 --poll fixed-1024 --poll-max-ns 0
0 --poll adaptive --poll-max-ns 0
0 --poll per-source --poll-max-ns 0
0 --poll weighted --poll-max-ns 0
0 --poll rate --poll-max-ns 0
0 --poll rate --poll-start-rate 0
1 --poll fixed --poll-max-ns 50us
1 --poll adaptive --poll-max-ns 10ms
END
