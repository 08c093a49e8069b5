#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --request-cost takes the iothread's time: that much of its CPU, one after the other.
. "$(dirname "$0")/../fio.sh"

for poll in off busy; do
	start_target --backend null --size 16M --request-cost 500us --poll $poll --stats stats.json
	fio_passes --name=job --rw=randread --bs=4k --iodepth=32 --number_ios=400
	stop_target
	holds fio.json "jobs[0]['read']['lat_ns']['min'] >= 500000" "jobs[0]['read']['runtime'] >= 200" \
		"jobs[0]['read']['clat_ns']['percentile']['50.000000'] >= 8 * 10**6"
done
