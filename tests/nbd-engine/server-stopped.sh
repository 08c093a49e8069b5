#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The server stops answering in the middle of a run: the jobs end after stuck_timeout, with
# ETIMEDOUT, and so does fio when it was told to end.
. "$(dirname "$0")/servers.sh"

# stop_it: the server stands still until SIGCONT
stop_it()
{
	kill -STOP "$server_pid"
	cleanup_fn kill -CONT "$server_pid"
}

# times_out JOBS: each of the jobs of $fio_pid does
times_out()
{
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "success without a server"
	holds fio.json "[job['error'] for job in jobs] == [110] * $1" \
		"all(job['job_runtime'] < 12000 for job in jobs)"
	[ "$(grep -c stuck_timeout fio.err)" = "$1" ] || { said; fail "not a word of why"; }
	kill -CONT "$server_pid"
}

# Some are in the middle of a write that is larger than a socket's buffer.
serve_nbdkit memory size=64M
start_fio --stuck_timeout=1 --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60 \
	--name=block --name=poll --wait_mode=poll --name=adaptive --wait_mode=adaptive --connections=4 \
	--name=libnbd --datapath=libnbd --name=never --iodepth_batch_complete_min=0 \
	--name=large --rw=write --bs=16m --iodepth=2
sleep 2
stop_it
times_out 6

serve_nbdkit memory size=64M
start_fio --stuck_timeout=1 --name=job --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60
sleep 1
stop_it
sleep 0.5
kill -TERM "$fio_pid"
times_out 1

# One answer in many is missing, or the end of one.
jobs_badly --stuck_timeout=1 --rw=randread --bs=4k --iodepth=8 --size=16m <<END
silence after=1000 act=silence|stuck_timeout
midway after=1000 act=silence_midway|stuck_timeout
structured after=1000 act=silence_midway|stuck_timeout|--structured_replies=1
END
holds fio.json "[job['error'] for job in jobs] == [110] * 3"
