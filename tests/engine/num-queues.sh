#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# num_queues= sets up queues that no job uses, and later jobs may; more than the device has are refused.
. "$(dirname "$0")/../fio.sh"

eventfds()
{
	find "/proc/$target_pid/fd" -lname '*eventfd*' | wc -l
}

start_target --backend ram --size 16M --num-queues 4
fio_passes --num_queues=4 --name=first --rw=randwrite --bs=4k --size=1m --iodepth=4 --verify=crc32c \
	--name=second --stonewall --numjobs=4 --rw=randread --bs=4k --size=1m --iodepth=4
holds fio.json "[job['read']['total_ios'] for job in jobs] == [256] * 5"
fio_fails '5 queues are needed, one for each job at the same time or num_queues=' --num_queues=5 --name=job \
	--rw=randread --bs=4k --size=1m

# A queue has a kick and a call, whether it is used or not.
idle=$(eventfds)
start_fio --num_queues=3 --name=job --rw=randread --bs=4k --size=1m --time_based --runtime=60
fio_runs
[ $(($(eventfds) - idle)) = 6 ] || fail "$(($(eventfds) - idle)) eventfds for 3 queues"
