#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The queues of a client, and the clients, are spread over the iothreads, or go where --iothread-map says.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M --num-queues 4 --iothreads 2 --stats stats.json
fio_passes --name=job --numjobs=4 --rw=randread --bs=4k --rate_iops=500 --time_based --runtime=1
stop_target
holds stats.json "all(t['requests']['read'] > 0 for t in threads)"

start_target --backend null --size 16M --num-queues 1 --iothreads 2 --stats stats.json
fio_passes --name=job --rw=randread --bs=4k --number_ios=100
fio_passes --name=job --rw=randread --bs=4k --number_ios=100
stop_target
holds stats.json "[t['requests']['read'] for t in threads] == [100, 100]"

# Queues 0 to 3 on iothreads 2, 0, 0 and, starting over, 2.
start_target --backend null --size 16M --num-queues 4 --iothreads 3 --iothread-map 2,0,0 --stats stats.json
fio_passes --name=job --numjobs=4 --rw=randread --bs=4k --number_ios=100
stop_target
holds stats.json "[t['requests']['read'] for t in threads] == [200, 0, 200]"
