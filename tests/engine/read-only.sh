#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A read-only device is read, and refuses to be written or trimmed at the start.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --read-only
fio_passes --name=job --rw=randread --bs=4k --size=4m --iodepth=16
holds fio.json "jobs[0]['read']['total_ios'] == 1024"
for rw in randwrite randrw randtrim trimwrite; do
	fio_fails 'the device is read-only' --name=job --rw=$rw --bs=4k --size=4m --iodepth=16
	holds fio.json "jobs[0]['error'] == 30"
	did_nothing
done
