#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written is read back, at any depth and in any way of waiting.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
for mode in block poll adaptive; do
	for depth in 1 32 256; do
		fio_passes --wait_mode=$mode --name=job --rw=randwrite --bs=4k --size=2m \
			--iodepth=$depth --verify=crc32c
		holds fio.json "jobs[0]['write']['total_ios'] == 512" \
			"jobs[0]['read']['total_ios'] == 512"
	done
done
