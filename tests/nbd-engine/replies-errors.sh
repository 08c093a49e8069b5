#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Errors reach fio as what they are, with what the server says about the first.
. "$(dirname "$0")/servers.sh"

for rw in randread randwrite randtrim; do
	jobs_badly --structured_replies=1 --rw=$rw --bs=4k --iodepth=8 --size=4m <<END
error after=100 act=error|the server says: no more?[31m room
error_offset after=100 act=error_offset|: scratched
error_unknown after=100 act=error_unknown|the server says: strange
shutdown after=100 act=shutdown|is shutting down
END
	holds fio.json "[job['error'] for job in jobs] == [28, 5, 22, 108]"
done
# An error before the data was taken: the connection stays in step.
for act in early_error simple_error; do
	for structured in 0 1; do
		serve_badly structured=$structured act=$act
		run_fio --structured_replies=1 --name=job --rw=write --bs=256k --iodepth=8 --size=4m --continue_on_error=all || true
		holds fio.json "jobs[0]['total_err'] == 16" "jobs[0]['first_error'] == 5"
	done
done
