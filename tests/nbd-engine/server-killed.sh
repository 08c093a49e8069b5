#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The server dies in the middle of a run: the jobs end at once, with a real errno.
. "$(dirname "$0")/servers.sh"

serve_nbdkit memory size=64M
start_fio --rw=randrw --bs=4k --iodepth=16 --time_based --runtime=60 --name=block --name=poll --wait_mode=poll \
	--name=thread --thread --name=adaptive --wait_mode=adaptive --connections=4 \
	--name=libnbd --datapath=libnbd --name=spin --datapath=libnbd --wait_mode=poll
sleep 2
kill -KILL "$server_pid"
fio_ends 15
[ "$fio_status" != 0 ] || fail "success without a server"
holds fio.json "[job['error'] for job in jobs] == [104] * 6" \
	"all(job['read']['total_ios'] > 0 for job in jobs)"
[ "$(grep -c 'has closed the connection' fio.err)" = 6 ] || { said; fail "not a word of why"; }
! grep -q 'Unknown error' fio.err || { said; fail "an error without a name"; }
