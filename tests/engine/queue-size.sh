#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# queue_size= sets the queue's size; too small for iodepth, or too large for the
# device, is an error that says so.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --queue-size 256
job='--name=job --rw=randwrite --bs=4k --size=1m --verify=crc32c --dp_stats=stats'
while read -r size options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes $job $options
	holds stats.job.1.json "d['queue_size'] == $size"
done <<END
128 --iodepth=1
128 --iodepth=128
256 --iodepth=129
256 --iodepth=256
16 --queue_size=16 --iodepth=16
256 --queue_size=256 --iodepth=1
1 --queue_size=1 --iodepth=1
128 --indirect=0 --iodepth=42
256 --indirect=0 --iodepth=43
4 --queue_size=4 --indirect=0 --iodepth=1
END
while IFS='|' read -r text options; do
	# shellcheck disable=SC2086
	fio_fails "$text" $job $options
done <<END
less than iodepth=17|--queue_size=16 --iodepth=17
less than iodepth=6|--queue_size=16 --indirect=0 --iodepth=6
refuses a queue of 512 entries; its --queue-size may be smaller: lower iodepth= or set queue_size=|--iodepth=257
refuses a queue of 512 entries; its --queue-size may be smaller: lower iodepth= or set queue_size=|--queue_size=512
refuses a queue of 512 entries; its --queue-size may be smaller: lower iodepth= or set queue_size=|--indirect=0 --iodepth=86
END
