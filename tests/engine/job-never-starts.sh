#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One job that cannot start fails the run but not the other jobs, and one that
# has not started yet does not hold up the end.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 3
for how in '' --thread; do
	# shellcheck disable=SC2086 # none or one word
	fio_fails 'bad: offset' $how --rw=randwrite --bs=4k --iodepth=8 --verify=crc32c \
		--name=good --size=1m --name=bad --offset=15m --size=2m \
		--name=late --stonewall --size=1m --offset=4m
	holds fio.json "jobs[1]['error'] == 22" "jobs[1]['write']['total_ios'] == 0"

	# shellcheck disable=SC2086
	start_fio $how --bs=4k --rw=randread --time_based --name=long --runtime=60 \
		--name=never --startdelay=50 --runtime=1
	fio_runs
	kill -TERM "$fio_pid"
	fio_ends 20
	# The queues are free again.
	fio_passes --name=after --rw=randwrite --bs=4k --size=1m --numjobs=3
done
