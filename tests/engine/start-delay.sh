#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs that start later than others share the device all the same.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 3
for how in '' --thread; do
	fio_passes $how --rw=randwrite --bs=4k --size=2m --iodepth=16 --verify=crc32c \
		--name=a --name=b --offset=2m --startdelay=1 --name=c --offset=4m --startdelay=300ms
	holds fio.json "all(job['read']['total_ios'] == 512 for job in jobs)"
done
