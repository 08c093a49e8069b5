#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A request takes as long as --delay says, whatever the distribution.
. "$(dirname "$0")/../fio.sh"

while read -r delay expr; do
	start_target --backend null --size 16M --delay "$delay"
	fio_passes --output-format=json+ --name=job --rw=randread --bs=4k --iodepth=4 --time_based --runtime=600ms
	stop_target
	# Late is the machine's fault, early would be ours: only medians have an upper end.
	holds fio.json "jobs[0]['read']['total_ios'] > 50" "$expr"
done <<'END'
none jobs[0]['read']['lat_ns']['min'] < 1000000
fixed:0 jobs[0]['read']['lat_ns']['min'] < 1000000
fixed:2ms 2000000 <= jobs[0]['read']['lat_ns']['min'] and jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 20000000
uniform:1ms,3ms 1000000 <= jobs[0]['read']['lat_ns']['min'] < 2000000 and 1700000 < jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 20000000
exp:1ms jobs[0]['read']['lat_ns']['min'] < 1000000 and 500000 < jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 7000000 and jobs[0]['read']['lat_ns']['max'] > 2000000
lognormal:1ms,0.5 jobs[0]['read']['lat_ns']['min'] < 900000 and 800000 < jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 10000000 and jobs[0]['read']['lat_ns']['max'] > 1500000
END
