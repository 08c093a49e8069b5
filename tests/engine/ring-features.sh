#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# With and without event index and indirect descriptors.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
for mode in block poll adaptive; do
	for event_idx in 0 1; do
		for indirect in 0 1; do
			fio_passes --wait_mode=$mode --event_idx=$event_idx --indirect=$indirect \
				--name=job --rw=randwrite --bs=4k --size=4m --iodepth=32 --verify=crc32c
			holds fio.json "jobs[0]['read']['total_ios'] == 1024"
		done
	done
done
