#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A run of real fio against a real target, traced on both sides: every request is found in both, its
# stages add up to its life, lives agree with fio's latency, and both sides saw the same workload.
. "$(dirname "$0")/../fio.sh"

mkdir here
for case in "block off null" "block adaptive ram" "poll busy null" "block off file"; do
	read -r wait poll backend <<<"$case"
	# A ramp would be in the trace and not in fio's figures.
	[ "$backend" != file ] || { truncate -s 16M disk; backend=file:disk; }
	start_target --backend "$backend" --size 16M --poll "$poll" --trace here/target.trace
	for depth in 1 8; do
		fio_passes --wait_mode="$wait" --dp_trace=here/engine --name=a/b --rw=randrw --bs=4k --size=16m \
			--iodepth=$depth --number_ios=3000 --lat_percentiles=1 --percentile_list=50
		[ "$(echo here/engine*)" = here/engine.a_b.1.trace ] || fail "the files are $(echo here/engine*)"
		/usr/bin/python3 "$SRC/tests/trace/agrees.py" fio.json "$case" here/engine.a_b.1.trace here/target.trace
	done
	stop_target
done
start_target --backend null --size 16M
fio_fails 'dp_trace: cannot write no/such/dir' --dp_trace=no/such/dir --name=a --rw=read --bs=4k --size=1m
