#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The server dies in the middle of a run: the jobs end at once, with a real errno.
. "$(dirname "$0")/servers.sh"

while read -r options; do
	serve_nbdkit memory size=64M
	# shellcheck disable=SC2086 # options are words
	start_fio $options --name=job --numjobs=2 --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60
	sleep 1
	kill -KILL "$server_pid"
	fio_ends 15
	[ "$fio_status" != 0 ] || fail "success without a server"
	holds fio.json "[job['error'] for job in jobs] == [104, 104]" \
		"all(job['read']['total_ios'] > 0 for job in jobs)"
	grep -q 'closed the connection' fio.err || { said; fail "not a word of why"; }
	! grep -q 'Unknown error' fio.err || { said; fail "an error without a name"; }
done <<END
--wait_mode=block
--wait_mode=poll --thread
--wait_mode=adaptive --connections=4
--datapath=libnbd
--datapath=libnbd --wait_mode=poll
END
