#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device that does not answer at set-up ends the run after stuck_timeout, once
# for all jobs.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
kill -STOP "$target_pid"
cleanup_fn kill -CONT "$target_pid"
for how in '' --thread; do
	SECONDS=0
	fio_fails 'timed out' $how --stuck_timeout=2 --name=job --numjobs=8 --rw=randread --bs=4k --size=1m
	holds fio.json "all(job['error'] == 110 for job in jobs)"
	((SECONDS < 10)) || fail "took $SECONDS s, more than stuck_timeout"
done
# Killed while fio waits for its answer.
has_asked()
{
	find "/proc/$fio_pid/fd" -lname 'socket:*' | grep -q . && grep -q '^State:.S' "/proc/$fio_pid/status"
}
start_fio --name=job --numjobs=4 --rw=randread --bs=4k --size=1m
wait_for 20 has_asked || fail "fio does not connect"
sleep 0.2
kill -KILL "$target_pid"
fio_ends 10
holds fio.json "all(job['error'] == 104 for job in jobs)"
stop_target || true
# Well again.
start_target --backend ram --size 16M
kill -STOP "$target_pid"
start_fio --name=job --rw=randread --bs=4k --size=1m
sleep 1
kill -CONT "$target_pid"
fio_ends 20
[ "$fio_status" = 0 ] || { said; fail "a pause is no failure"; }
