#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs that go by the clock: time_based, ramp_time, runtime, steadystate,
# latency_target and latency_window end when they should.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 4M
fio_passes --name=job --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=700ms
holds fio.json "jobs[0]['job_runtime'] >= 650" "jobs[0]['read']['total_ios'] > 1024 * 2"
fio_passes --name=job --rw=randread --bs=4k --iodepth=16 --time_based --runtime=500ms --ramp_time=500ms
holds fio.json "450 <= jobs[0]['read']['runtime'] < 5000" "jobs[0]['read']['total_ios'] > 0"
fio_passes --name=job --rw=randwrite --bs=4k --iodepth=16 --time_based --runtime=500ms --verify=crc32c
fio_passes --name=job --rw=randread --bs=4k --rate_iops=2000 --time_based --runtime=20 \
	--steadystate=iops:90% --steadystate_duration=2s
holds fio.json "jobs[0]['job_runtime'] < 15000"
fio_passes --name=job --rw=randread --bs=4k --iodepth=16 --latency_target=100ms \
	--latency_window=100ms --latency_percentile=50 --time_based --runtime=1
holds fio.json "jobs[0]['read']['total_ios'] > 0"
