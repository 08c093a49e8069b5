#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A flush that fails ends the job with its errno, whatever asks for it; with continue_on_error=
# it is counted. A trim that fails does the same. All engines.
. "$(dirname "$0")/../fio.sh"

# What follows on sixteen good requests fails.
fails()
{
	# shellcheck disable=SC2086 # words
	fio_fails "$says" --name=job --bs=4k --size=1m $options
	holds fio.json "jobs[0]['error'] == 5" "jobs[0]['write']['total_ios'] + jobs[0]['trim']['total_ios'] in (16, 17)"
}
says='a flush has failed: Input/output error'
for options in --fsync=16 --fdatasync=16 '--number_ios=16 --end_fsync=1' '--number_ios=16 --fsync_on_close=1' \
	'--iodepth=16 --iodepth_batch=16 --number_ios=16 --end_fsync=1'; do
	options="--rw=write $options"
	each_engine fails --backend ram --size 4M --fail-after 16
done
says='Input/output error'
options=--rw=trim
each_engine fails --backend ram --size 4M --fail-after 16

counted()
{
	fio_passes --name=job --rw=write --bs=4k --size=64k --fsync=16 --end_fsync=1 --continue_on_error=all
	holds fio.json "jobs[0]['total_err'] == 1" "jobs[0]['first_error'] == 5"
}
each_engine counted --backend ram --size 4M --fail-after 16
