#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Errors reach fio as what they are, with what the server says about the first.
. "$(dirname "$0")/servers.sh"

while IFS='|' read -r act errno text; do
	# shellcheck disable=SC2086 # words
	serve_badly after=100 act=$act
	for rw in randread randwrite randtrim; do
		fio_fails "$text" --name=job --rw=$rw --bs=4k --iodepth=8 --size=4m
		holds fio.json "jobs[0]['error'] == $errno"
	done
done <<END
error|28|the server says: no more?[31m room
error_offset|5|: scratched
error_unknown|22|the server says: strange
shutdown|108|Cannot send after transport endpoint shutdown
END
# An error before the data was taken: the connection stays in step.
for act in early_error simple_error; do
	for structured in 0 1; do
		serve_badly structured=$structured act=$act
		run_fio --name=job --rw=write --bs=256k --iodepth=8 --size=4m --continue_on_error=all || true
		holds fio.json "jobs[0]['total_err'] == 16" "jobs[0]['first_error'] == 5"
	done
done
