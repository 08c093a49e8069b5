#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# loops=, number_ios= and io_size= do exactly as much as they say.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
ios()
{
	local wanted=$1
	shift
	fio_passes --name=job --bs=4k --size=1m --iodepth=16 "$@"
	holds fio.json "jobs[0]['read']['total_ios'] + jobs[0]['write']['total_ios'] == $wanted"
}
ios 768 --rw=randread --loops=3
ios 1536 --rw=randwrite --loops=3 --verify=crc32c
ios 100 --rw=randread --number_ios=100
ios 64 --rw=read --io_size=256k
ios 1024 --rw=read --io_size=4m
ios 256 --rw=randrw --rwmixread=30
ios 256 --rw=readwrite
