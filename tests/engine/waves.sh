#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs that come one after another hand their queues on: sixteen in waves of two
# over two queues, and each finds what the one before it wrote.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2 --iothreads 2
for how in '' --thread; do
	{
		echo "[global]"
		printf '%s\n' rw=randwrite bs=4k size=4m number_ios=128 iodepth=32 verify=crc32c \
			"${how#--}"
		for ((i = 0; i < 8; i++)); do
			printf '[wave%d]\nstonewall\nnumjobs=2\noffset_increment=4m\n' $i
		done
	} >job.fio
	fio_passes job.fio
	holds fio.json "len(jobs) == 16" "all(job['read']['total_ios'] == 128 for job in jobs)"
done
# Queues that went round many times, of more requests than a ring has entries.
fio_passes --name=one --rw=randread --bs=4k --size=4m --loops=10 --iodepth=64 \
	--name=two --stonewall --rw=randwrite --verify=crc32c --bs=4k --size=4m --iodepth=16 \
	--name=three --stonewall --wait_mode=poll --rw=randrw --bs=4k --size=4m --iodepth=100
