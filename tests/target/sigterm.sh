#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# SIGTERM finishes what is in flight and removes the socket, status 0; requests
# that are in flight are completed, not dropped.
. "$(dirname "$0")/../fio.sh"

for mode in block poll adaptive; do
	start_target --backend ram --size 16M --delay fixed:1s --stats stats.json
	start_fio --wait_mode=$mode --name=job --rw=randwrite --bs=4k --iodepth=8 --number_ios=8 --size=1m
	wait_for 10 in_flight 8 || fail "no requests"
	kill -TERM "$target_pid"
	stop_target || fail "status $?"
	[ ! -e "$socket" ] || fail "the socket is still there"
	fio_ends 10
	[ "$fio_status" = 0 ] || { said; fail "fio lost requests"; }
	holds fio.json "jobs[0]['error'] == 0" "jobs[0]['write']['total_ios'] == 8" \
		"jobs[0]['write']['lat_ns']['min'] >= 10**9"
	holds stats.json "sums('requests', 'write') == 8" "sums('errors') == 0"
done
# A job with more to do learns that the device is gone.
start_target --backend ram --size 16M
start_fio --name=job --rw=randwrite --bs=4k --iodepth=8 --time_based --runtime=60
fio_runs
stop_target || fail "status $?"
fio_ends 10
[ "$fio_status" != 0 ] || fail "success without a device"
holds fio.json "jobs[0]['error'] == 104"
