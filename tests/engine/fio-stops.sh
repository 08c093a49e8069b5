#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# SIGTERM and SIGINT to fio end a run promptly, also with slow requests in flight.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2 --delay fixed:200ms
for mode in block poll adaptive; do
	for signal in TERM INT; do
		start_fio --wait_mode=$mode --name=job --numjobs=2 --rw=randrw --bs=4k --iodepth=16 \
			--time_based --runtime=60
		fio_runs
		kill -$signal "$fio_pid"
		fio_ends 10
		holds fio.json "all(job['error'] == 0 for job in jobs)"
	done
done
fio_passes --name=after --rw=randread --bs=4k --iodepth=16 --numjobs=2 --number_ios=32
