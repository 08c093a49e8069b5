#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs of a run share one device, a queue each, whether processes or threads: one
# of them finds what the others wrote.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 8 --iothreads 2
for n in 1 4 8; do
	for how in '' --thread; do
		# shellcheck disable=SC2086 # none or one word
		fio_passes $how --rw=randwrite --bs=4k --size=1m --iodepth=16 \
			--name=writer --numjobs=$n --offset_increment=1m --verify=crc32c \
			--name=reader --stonewall --rw=read --size=${n}m --verify=crc32c
		holds fio.json "len(jobs) == $n + 1" "jobs[-1]['read']['total_ios'] == $n * 256"
	done
done
# fio starts a job's engine when it starts the job: those that overlap differ.
for how in '' --thread; do
	# shellcheck disable=SC2086
	fio_passes $how --name=job --numjobs=8 --rw=randread --bs=4k --rate_iops=500 --time_based \
		--runtime=1 --dp_stats=stats
	queues=$(cat stats.job.*.json | grep '"queue":' | sort -u | wc -l)
	[ "$queues" = 8 ] || fail "8 jobs $how used $queues queues"
done
