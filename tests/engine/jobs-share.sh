#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs of a run share one device, a queue each, whether processes or threads: one
# of them finds what the others wrote.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 8 --iothreads 2
for n in 1 4 8; do
	for how in '' --thread; do
		fio_passes $how --rw=randwrite --bs=4k --size=1m --iodepth=16 --dp_stats=stats \
			--name=writer --numjobs=$n --offset_increment=1m --verify=crc32c \
			--name=reader --stonewall --rw=read --size=${n}m --verify=crc32c
		holds fio.json "len(jobs) == $n + 1" "jobs[-1]['read']['total_ios'] == $n * 256"
		queues=$(cat stats.writer.*.json | grep '"queue":' | sort -u | wc -l)
		[ "$queues" = "$n" ] || fail "$n jobs $how used $queues queues"
		rm stats.*
	done
done
