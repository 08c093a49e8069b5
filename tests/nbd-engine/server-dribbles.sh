#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that is never silent, but never ends a request either, is given up after
# stuck_timeout; so is one that ends all requests but one.
. "$(dirname "$0")/servers.sh"

for datapath in direct libnbd; do
	for mode in block poll; do
		FIO_TIMEOUT=40 jobs_badly --stuck_timeout=1 --structured_replies=1 --bs=4k --size=16m --iodepth=4 \
			--time_based --runtime=300 --datapath=$datapath --wait_mode=$mode <<END
header after=10 act=dribble structured=0|stuck_timeout|--rw=randwrite
data after=10 act=dribble|stuck_timeout|--rw=randread --iodepth=1
errors after=10 act=flood|stuck_timeout|--rw=randread
unending after=10 act=skip|stuck_timeout|--rw=randread
batched after=10 act=flood|stuck_timeout|--rw=randread --iodepth_batch_complete_min=0
one after=10 times=1 act=silence|stuck_timeout|--rw=randread --rate_iops=20
END
		holds fio.json "[job['error'] for job in jobs] == [110] * 6"
	done
done
