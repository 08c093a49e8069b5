#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dp_stats= leaves a file a job that agrees with what fio and the target counted.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 4 --stats target.json
modes=(block poll adaptive)
[ "$ENGINE" != virtio-poll ] || modes=(poll)
for mode in "${modes[@]}"; do
	fio_passes --wait_mode="$mode" --dp_stats="$mode" --name=a/b --rw=randrw --bs=4k --size=4m --iodepth=8 \
		--fsync=16 --name=c --rw=randtrim --bs=4k --size=4m --numjobs=2
	files=$(echo "$mode".*.json)
	[ "$files" = "$mode.a_b.1.json $mode.c.2.json $mode.c.3.json" ] || fail "the files are $files"
	for file in $files; do
		holds "$file" "d['engine'] == 'dataplane-$ENGINE'" "d['wait_mode'] == '$mode'" \
			"d['notifications']['sent'] + d['notifications']['suppressed'] == total(d['batch'])" \
			"d['notifications']['received'] == 0 or d['sleeps'] > 0" \
			"d['sleeps'] == 0 or d['yields'] or '$mode' != 'poll'" "(d['polls'] == 0) or '$mode' != 'block'"
	done
	holds fio.json "jobs[1]['trim']['total_ios'] == 1024"
	# Each trim of these jobs is a batch of its own.
	holds "$mode".c.2.json "d['batch'] == [[1, 1024]]"
done
fio_passes --dp_stats=no/such/dir --name=job --rw=randread --bs=4k --size=1m
grep -q 'dp_stats: cannot write no/such/dir' fio.err || fail "not a word about a file that cannot be written"
stop_target
holds target.json "sums('requests', 'discard') == ${#modes[@]} * 2048"
