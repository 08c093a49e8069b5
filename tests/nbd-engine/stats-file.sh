#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dp_stats= leaves a file a job that agrees with what fio counted.
. "$(dirname "$0")/servers.sh"

serve_nbdkit memory size=16M
for mode in block poll adaptive; do
	fio_passes --wait_mode=$mode --dp_stats=$mode --name=a/b --rw=randrw --bs=4k --size=4m --iodepth=8 \
		--name=c --rw=randtrim --bs=4k --size=4m --numjobs=2 --connections=2
	files=$(echo $mode.*.json)
	[ "$files" = "$mode.a_b.1.json $mode.c.2.json $mode.c.3.json" ] || fail "the files are $files"
	for file in $files; do
		holds "$file" "d['engine'] == 'dataplane-nbd'" "d['wait_mode'] == '$mode'" \
			"d['datapath'] == 'direct'" "not d['structured_replies']" "d['sends'] == total(d['batch'])" \
			"d['receives'] >= total(d['replies'])" \
			"d['sleeps'] == 0 or d['yields'] or '$mode' != 'poll'" "d['polls'] == 0 or '$mode' != 'block'"
	done
	# Each request of these jobs is sent as it comes, and is too small to be sent in parts.
	holds $mode.c.2.json "d['batch'] == [[1, 1024]]" "d['connections'] == 2"
done
fio_passes --dp_stats=batches --name=job --rw=randread --bs=4k --size=4m --iodepth=16 \
	--iodepth_batch_submit=16 --iodepth_batch_complete_min=16
holds batches.job.1.json "sum(n * count for n, count in d['batch']) == 1024" "d['sends'] < 256"
fio_passes --dp_stats=structured --structured_replies=1 --name=job --rw=randread --bs=4k --size=1m
holds structured.job.1.json "d['structured_replies']"
fio_passes --dp_stats=no/such/dir --name=job --rw=randread --bs=4k --size=1m
grep -q 'dp_stats: cannot write no/such/dir' fio.err || fail "not a word about a file that cannot be written"
