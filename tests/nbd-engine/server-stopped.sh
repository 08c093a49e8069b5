#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The server stops answering in the middle of a run: the jobs end after stuck_timeout, with
# ETIMEDOUT, and so does fio when it was told to end.
. "$(dirname "$0")/servers.sh"

# stopped ARG...: two jobs lose their server; $fio_pid still runs
stopped()
{
	serve_nbdkit memory size=64M
	start_fio --stuck_timeout=1 "$@" --name=job --numjobs=2 --rw=randrw --bs=4k --iodepth=16 \
		--time_based --runtime=60
	sleep 1
	kill -STOP "$server_pid"
	cleanup_fn kill -CONT "$server_pid"
}

times_out()
{
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "success without a server"
	holds fio.json "[job['error'] for job in jobs] == [110, 110]" "jobs[0]['job_runtime'] < 10000"
	grep -q stuck_timeout fio.err || { said; fail "not a word of why"; }
	kill -CONT "$server_pid"
}

while read -r options; do
	# shellcheck disable=SC2086 # options are words
	stopped $options
	times_out
done <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive --connections=4
--datapath=libnbd
--iodepth_batch_complete_min=0
END
stopped
sleep 0.5
kill -TERM "$fio_pid"
times_out

# It takes writes that are larger than the socket's buffer, and no byte more.
serve_nbdkit memory size=64M
start_fio --stuck_timeout=1 --name=job --rw=write --bs=16m --iodepth=2 --time_based --runtime=60
sleep 1
kill -STOP "$server_pid"
cleanup_fn kill -CONT "$server_pid"
fio_ends 15
holds fio.json "jobs[0]['error'] == 110"
kill -CONT "$server_pid"

# One answer in many is missing, or the end of one.
for act in silence silence_midway; do
	serve_badly after=1000 act=$act
	fio_fails stuck_timeout --stuck_timeout=1 --name=job --rw=randread --bs=4k --iodepth=8 --size=16m
	holds fio.json "jobs[0]['error'] == 110"
done
