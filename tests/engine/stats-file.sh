#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dp_stats= leaves a file a job that agrees with what fio and the target counted. All engines.
. "$(dirname "$0")/../fio.sh"

counts()
{
	local modes=(block poll adaptive hybrid) mode file files
	local sent="d['notifications']['sent'] + d['notifications']['suppressed']" own="d['notifications']['received'] == 0 or d['sleeps'] > 0"
	rm -f ./*.json
	case $ENGINE in
	virtio-poll) modes=(spin) ;;
	nbd)
		sent="d['sends']"
		own="d['datapath'] == 'direct' and not d['structured_replies'] and d['receives'] >= total(d['replies'])"
		;;
	esac
	for mode in "${modes[@]}"; do
		fio_passes --wait_mode="$mode" --dp_stats="$mode" --name=a/b --rw=randrw --bs=4k --size=4m --iodepth=8 \
			--fsync=16 --name=c --rw=randtrim --bs=4k --size=4m --numjobs=2
		files=$(echo "$mode".*.json)
		[ "$files" = "$mode.a_b.1.json $mode.c.2.json $mode.c.3.json" ] || fail "the files are $files"
		for file in $files; do
			holds "$file" "d['engine'] == 'dataplane-$ENGINE'" "d['wait_mode'] == '$mode'" "$sent == total(d['batch'])" "$own" \
				"d['sleeps'] == 0 or d['yields'] or '$mode' in ('block', 'adaptive', 'hybrid')" "d['polls'] == 0 or '$mode' != 'block'"
		done
		holds fio.json "jobs[1]['trim']['total_ios'] == 1024"
		# Each trim of these jobs is a batch of its own, and too small to be sent in parts.
		holds "$mode".c.2.json "d['batch'] == [[1, 1024]]"
	done
	fio_passes --dp_stats=batches --name=job --rw=randread --bs=4k --size=4m --iodepth=16 \
		--iodepth_batch_submit=16 --iodepth_batch_complete_min=16
	holds batches.job.1.json "total(d['batch']) < 256"
	fio_passes --dp_stats=no/such/dir --name=job --rw=randread --bs=4k --size=1m
	grep -q 'dp_stats: cannot write no/such/dir' fio.err || fail "not a word about a file that cannot be written"
	if [ "$ENGINE" = nbd ]; then
		fio_passes --dp_stats=own --structured_replies=1 --connections=2 --name=job --rw=randread --bs=4k --size=1m
		holds own.job.1.json "d['structured_replies']" "d['connections'] == 2"
	fi
	target_stats target
	holds target "sums('requests', 'discard') == ${#modes[@]} * 2048"
}
QUEUES=4 each_engine counts --backend ram --size 16M
