#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The same of the NBD pair: both datapaths, several connections, a pool; and one side alone.
ENGINE=nbd
export TARGET=nbd-target
. "$(dirname "$0")/../fio.sh"

truncate -s 16M disk
for case in "block off ram direct 1" "poll busy null direct 1" "block off file direct 3" "block adaptive ram libnbd 1"; do
	read -r wait poll backend datapath connections <<<"$case"
	[ "$backend" != file ] || backend=file:disk
	start_target --backend "$backend" --size 16M --poll "$poll" --trace target.trace
	path=$socket
	unset socket
	fio_passes --uri="nbd+unix:///?socket=$path" --datapath="$datapath" --connections="$connections" --wait_mode="$wait" \
		--dp_trace=engine --name=a --rw=randrw --bs=4k --size=16m --iodepth=8 --number_ios=3000 --lat_percentiles=1 --percentile_list=50
	/usr/bin/python3 "$SRC/tests/trace/agrees.py" fio.json "$case" engine.a.1.trace target.trace
	stop_target
done
"$SRC/scripts/dataplane" trace target.trace >target.txt
grep -q '^published ' target.txt || { cat target.txt; fail "nothing is told of the target alone"; }
