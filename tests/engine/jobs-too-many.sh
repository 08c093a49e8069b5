#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# More jobs at the same time than the device has queues: an error that says so.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2
for how in '' --thread; do
	fio_fails '3 queues are needed, one for each job' $how --name=job --rw=randread --bs=4k \
		--size=1m --numjobs=3
	did_nothing
	fio_passes $how --name=job --rw=randread --bs=4k --size=1m --numjobs=2
done
