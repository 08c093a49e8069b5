#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A server that takes one client at a time serves the jobs of a run one after another: one
# that waits is not stuck, and ends when fio is told to.
. "$(dirname "$0")/servers.sh"

serve_qemu_nbd -e 1
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes $options --stuck_timeout=1 --name=job --numjobs=3 --rw=randwrite --bs=4k --iodepth=8 \
		--time_based --runtime=1
	holds fio.json "len(jobs) == 3" "all(job['write']['total_ios'] > 0 for job in jobs)" \
		"all(900 < job['job_runtime'] < 3000 for job in jobs)"
done <<END
--wait_mode=block
--thread --datapath=libnbd
END

start_fio --stuck_timeout=30 --name=job --numjobs=3 --rw=randwrite --bs=4k --time_based --runtime=60
sleep 2
kill -TERM "$fio_pid"
fio_ends 10

# Nobody of the run keeps it busy, but somebody else.
start_fio --name=other --rw=read --bs=4k --time_based --runtime=60
other=$fio_pid
sleep 1
fio_fails 'it may be busy with other clients' --stuck_timeout=1 --name=job --rw=read --bs=4k
kill -TERM "$other"
wait "$other" || true
