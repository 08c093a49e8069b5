#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The device dies in the middle of a run: the job ends at once, with a real errno.
. "$(dirname "$0")/../fio.sh"

for mode in block poll adaptive; do
	for how in '' --thread; do
		start_target --backend ram --size 16M --num-queues 2
		# shellcheck disable=SC2086 # none or one word
		start_fio $how --wait_mode=$mode --name=job --numjobs=2 --rw=randrw --bs=4k --iodepth=16 \
			--time_based --runtime=60
		fio_runs
		kill -KILL "$target_pid"
		fio_ends 15
		[ "$fio_status" != 0 ] || fail "success without a device"
		holds fio.json "[job['error'] for job in jobs] == [104, 104]"
		grep -q 'closed the connection' fio.err || { said; fail "not a word of why"; }
		stop_target || true
	done
done
