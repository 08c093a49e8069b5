#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A log of a run that was written can be replayed, and does the same again.
# alone: it looks at counters right when fio ends
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --stats stats.json
fio_passes --name=job --rw=randrw --bssplit=4k/50:16k/50 --size=2m --iodepth=8 --write_iolog=log \
	--percentage_random=50
reads=$(value fio.json "jobs[0]['read']['total_ios']")
writes=$(value fio.json "jobs[0]['write']['total_ios']")
((reads > 0 && writes > 0)) || fail "$reads reads, $writes writes"
fio_passes --name=job --read_iolog=log --iodepth=8 --bs=4k
holds fio.json "jobs[0]['read']['total_ios'] == $reads" "jobs[0]['write']['total_ios'] == $writes"
stop_target
holds stats.json "sums('requests', 'read') == 2 * $reads" "sums('requests', 'write') == 2 * $writes"

# Requests larger than any bs= of the run have no room: said before the first.
start_target --backend ram --size 64M
# fio leaves without the last request of a log, so that one is followed by another.
printf '%s\n' 'fio version 2 iolog' 'f add' 'f open' 'f read 0 16777216' 'f read 0 4096' 'f close' >large
fio_fails 'bytes of I/O buffers' --name=job --read_iolog=large --iodepth=4 --bs=4k
did_nothing
fio_passes --name=job --read_iolog=large --iodepth=1 --bs=16m
target_stats stats.json
holds stats.json "sums('bytes', 'read') >= 16 << 20"
