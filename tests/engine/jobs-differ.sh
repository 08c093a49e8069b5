#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs of one device may differ in block size, depth, direction and way of waiting.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 64M --num-queues 6
for how in '' --thread; do
	fio_passes $how --verify=crc32c --size=4m \
		--name=a --rw=randwrite --bs=512 --iodepth=1 --number_ios=500 --wait_mode=block \
		--name=b --rw=randwrite --bs=4k --iodepth=256 --offset=8m --wait_mode=poll \
		--name=c --rw=write --bs=1m --iodepth=2 --offset=16m --wait_mode=adaptive \
		--name=d --rw=randwrite --bsrange=4k-256k --iodepth=33 --offset=24m --wait_mode=block \
		--name=e --rw=randread --bs=4m --iodepth=3 --offset=32m --size=16m --verify=0 \
		--name=f --rw=randtrim --bs=64k --iodepth=7 --offset=56m --verify=0
	holds fio.json "[job['error'] for job in jobs] == [0] * 6" "jobs[1]['write']['total_ios'] == 1024" \
		"jobs[5]['trim']['total_ios'] == 64"
done
