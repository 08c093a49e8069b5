#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Verify is no empty ritual: a device that keeps nothing is found out.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M
for mode in block poll adaptive; do
	fio_fails 'verify' --wait_mode=$mode --name=job --rw=randwrite --bs=4k --size=1m \
		--iodepth=16 --verify=crc32c
	holds fio.json "jobs[0]['error'] == 84"
done
