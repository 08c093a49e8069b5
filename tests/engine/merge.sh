#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# merge=: what is adjacent in a batch leaves as one request, up to a size; the data is right,
# and fio hears of each io_u.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
# requests KIND: how many the target has had
requests()
{
	target_stats stats.json
	value stats.json "sums('requests', '$1')"
}

# merges WANTED ARG...: fio writes 4 MiB in 4 KiB blocks, in WANTED requests, and reads it back
merges()
{
	local wanted=$1 before
	shift
	before=$(requests write)
	fio_passes --name=job --bs=4k --size=4m --iodepth=32 --iodepth_batch=32 --verify=crc32c \
		--dp_stats=stats "$@"
	holds fio.json "jobs[0]['write']['total_ios'] == 1024" "jobs[0]['read']['total_ios'] == 1024"
	[ $(($(requests write) - before)) = "$wanted" ] ||
		fail "$*: $(($(requests write) - before)) requests, not $wanted"
	holds stats.job.1.json "d['merged'] >= 1024 - $wanted"
}

merges 1024 --rw=write --iodepth_batch_complete_max=32
for packed in 0 1; do
	# 32 in flight, submitted 32 at a time, 16 or all of them to a request
	merges 64 --rw=write --merge=64k --packed=$packed --iodepth_batch_complete_min=32
	merges 32 --rw=write --merge=1m --packed=$packed --iodepth_batch_complete_min=32
	# fio takes them one by one
	merges 32 --rw=write --merge=1m --packed=$packed --iodepth_batch_complete_min=32 \
		--iodepth_batch_complete_max=32 --wait_mode=poll
done
# a limit below two blocks merges nothing, nor is there anything to merge in single requests
merges 1024 --rw=write --merge=4k --iodepth_batch_complete_min=32
merges 1024 --rw=write --merge=1m --iodepth_batch=1
# few blocks in any order, so that one comes before the other as often as behind it
fio_passes --merge=64k --name=job --rw=randwrite --bs=4k --size=64k --loops=20 --iodepth=16 --iodepth_batch=16 \
	--iodepth_batch_complete_min=16 --verify=crc32c --dp_stats=stats
holds stats.job.1.json "d['merged'] > 20"
# any size, with flushes and trims between
fio_passes --merge=32k --name=job --rw=randwrite --bsrange=512-64k --size=4m --iodepth=64 --iodepth_batch=16 \
	--verify=crc32c --fsync=7
fio_passes --merge=32k --name=job --rw=randtrimwrite --bs=4k --size=4m --iodepth=64 --iodepth_batch=16
fio_passes --merge=128k --name=job --rw=randrw --norandommap --bs=512 --size=16k --io_size=4m --iodepth=32 \
	--iodepth_batch=32 --iodepth_batch_complete_max=3 --dp_stats=stats
holds stats.job.1.json "d['merged'] > 10"
# An io_u whose request was merged is used for a flush, a trim or a large block next, while those that
# were merged with it are in flight again: at depth, over several batches, on devices that take their time.
for delay in none exp:300us; do
	stop_target
	start_target --backend ram --size 32M --delay $delay
	while read -r options; do
		for batch in 16 5; do
			# shellcheck disable=SC2086 # options are words
			fio_passes --name=job --iodepth=16 --iodepth_batch_submit=$batch --merge=32k --size=4m \
				--verify=crc32c --verify_fatal=1 --verify_state_save=0 $options
		done
	done <<-END
		--rw=write --bs=4k --fsync=7
		--rw=write --bs=4k --fdatasync=3 --verify_backlog=64
		--rw=randwrite --bssplit=4k/80:64k/20 --fsync=5
		--rw=randrw --bs=4k --fsync=7
		--rw=write --bsrange=4k-64k --iodepth_batch_complete_max=16
		--rw=write --bs=4k --fsync=7 --packed=1
	END
	fio_passes --name=job --rw=randtrimwrite --bs=4k --size=4m --iodepth=16 --iodepth_batch=16 --merge=32k --fsync=5
done
fio_fails 'merge= needs a device that takes indirect descriptors' --merge=64k --indirect=0 --name=job --rw=read --bs=4k --size=1m
