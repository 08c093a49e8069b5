#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A thousand requests are in service together: a delay takes none of the
# iothread's time, and holds nobody else up.
. "$(dirname "$0")/../fio.sh"

for poll in off busy adaptive; do
	start_target --backend null --size 1G --delay fixed:10ms --poll $poll --num-queues 2
	fio_passes --name=job --rw=randread --bs=4k --iodepth=1000 --norandommap --time_based --runtime=600ms
	# 100000 a second at best; one after the other it would be 100.
	holds fio.json "jobs[0]['read']['lat_ns']['min'] >= 10 * 10**6" "jobs[0]['read']['total_ios'] >= 6000" \
		"jobs[0]['read']['clat_ns']['percentile']['50.000000'] < 100 * 10**6"
	stop_target
done
# Short delays overtake long ones.
start_target --backend null --size 1G --delay uniform:1us,20ms
fio_passes --name=job --rw=randread --bs=4k --iodepth=64 --norandommap --time_based --runtime=500ms
holds fio.json "jobs[0]['read']['lat_ns']['min'] < 4 * 10**6" "jobs[0]['read']['total_ios'] > 200"
