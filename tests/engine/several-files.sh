#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job has one device: several files are refused at the start, from wherever they come, as each
# would be all of it. All engines.
. "$(dirname "$0")/../fio.sh"

printf '%s\n' 'fio version 2 iolog' 'a add' 'b add' 'a open' 'a write 0 4096' 'b open' 'b write 0 4096' \
	'b close' 'a close' >two
printf '%s\n' 'fio version 2 iolog' 'a add' 'a open' 'a write 0 4096' 'a close' 'a open' 'a read 0 4096' \
	'a close' >one
refused()
{
	local words
	for words in '--filename=a:b --size=1m' '--nrfiles=3 --size=1m' '--filename=a:b --nrfiles=2' '--read_iolog=two'; do
		# shellcheck disable=SC2086 # words
		fio_fails 'but a job has one device' --name=job --rw=randwrite --bs=4k --iodepth=8 $words
		holds fio.json "jobs[0]['error'] == 22" "jobs[0]['write']['total_ios'] <= 1"
	done
	for words in '--filename=a' '--read_iolog=one' '--nrfiles=1' '--read_iolog=two --replay_redirect=a'; do
		# shellcheck disable=SC2086
		fio_passes --name=job --rw=randwrite --bs=4k --size=1m $words
	done
}
each_engine refused --backend ram --size 4M
