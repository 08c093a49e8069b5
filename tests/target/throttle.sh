#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The emulated device's throttle is not exceeded, by one job or by two together.
. "$(dirname "$0")/../fio.sh"

# no_faster_than MS TARGET-OPTIONS FIO-OPTION...: all jobs together take at least that long
no_faster_than()
{
	local ms=$1 options=$2
	shift 2
	# shellcheck disable=SC2086 # options are words
	start_target --backend null --size 1G --num-queues 2 --iothreads 2 $options
	fio_passes --rw=randread --iodepth=32 --norandommap "$@"
	holds fio.json "max(j['job_runtime'] for j in jobs) >= $ms" "all(j['error'] == 0 for j in jobs)"
	stop_target
}

no_faster_than 290 '--device-iops 10000' --bs=4k --number_ios=3000 --name=job
no_faster_than 290 '--device-iops 10000' --bs=4k --number_ios=1500 --name=a --name=b
no_faster_than 300 '--device-bw 200M' --bs=64k --number_ios=1000 --name=job
no_faster_than 490 '--delay fixed:5ms --device-parallel 4' --bs=4k --number_ios=400 --name=job
