#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# create_serialize=0 sets jobs up at the same time: threads share the device,
# processes have one each.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 4 --iothreads 2
for how in '' --thread; do
	fio_passes $how --create_serialize=0 --rw=randwrite --bs=4k --size=1m --iodepth=16 \
		--name=job --numjobs=4 --offset_increment=1m --verify=crc32c
	holds fio.json "len(jobs) == 4" "all(job['read']['total_ios'] == 256 for job in jobs)"
done
fio_fails 'past the end' --create_serialize=0 --name=job --rw=randwrite --bs=4k --offset=15m --size=2m
socket=nowhere
fio_fails 'No such file' --create_serialize=0 --name=job --rw=randwrite --bs=4k --numjobs=2
fio_fails 'No such file' --thread --create_serialize=0 --name=job --rw=randwrite --bs=4k --numjobs=2
