#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Blocks of any size the device can address, fixed and mixed.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 64M
for bs in 512 1k 12k 64k 1m 4m; do
	fio_passes --name=job --rw=randwrite --bs=$bs --size=16m --iodepth=4 --number_ios=64 \
		--verify=crc32c
done
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes --name=job --size=8m --iodepth=16 --verify=crc32c $options
	holds fio.json "jobs[0]['write']['total_ios'] > 0" "jobs[0]['read']['total_ios'] > 0"
done <<END
--rw=randwrite --bssplit=512/50:4k/30:64k/20
--rw=randwrite --bsrange=512-128k
--rw=randwrite --bsrange=1536-8k
--rw=randwrite --bs=8k --blockalign=4k
--rw=write --bs=4k,16k
--rw=randwrite --bs=4k --norandommap --verify=pattern --verify_pattern=0xab
--rw=randrw --bs=4k,8k
--rw=randwrite --bs=4k --random_generator=lfsr
--rw=randwrite --bs=4k --random_distribution=zipf:1.1 --norandommap --verify=pattern --verify_pattern=0xcd
END
# Sizes that fio rounds down to whole blocks; its verify does not like them.
fio_passes --name=job --size=8m --iodepth=16 --rw=randwrite --bssplit=4k/50:5000/50
