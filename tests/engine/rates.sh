#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rate limits hold.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M
# Slower than asked for is the machine's business, faster would be ours.
fio_passes --name=job --rw=randread --bs=4k --iodepth=8 --rate_iops=500 --time_based --runtime=1
holds fio.json "100 < jobs[0]['read']['total_ios'] < 800"
fio_passes --name=job --rw=randread --bs=4k --iodepth=8 --rate=2m --time_based --runtime=1
holds fio.json "100 < jobs[0]['read']['total_ios'] < 800"
fio_passes --name=job --rw=randread --bs=4k --iodepth=8 --rate_iops=500 --rate_process=poisson \
	--time_based --runtime=1
holds fio.json "100 < jobs[0]['read']['total_ios'] < 1200"
fio_passes --name=job --rw=randread --bs=4k --iodepth=8 --thinktime=10ms --thinktime_blocks=8 \
	--time_based --runtime=1
holds fio.json "40 < jobs[0]['read']['total_ios'] < 1000"
