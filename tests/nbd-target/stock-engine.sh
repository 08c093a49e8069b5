#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's own nbd engine reads back what it wrote: sizes, depths, jobs, trims, by every policy.
. "$(dirname "$0")/target.sh"

job='--name=job --rw=randwrite --verify=crc32c --verify_fatal=1'
for options in '--aio inline --poll off' '--aio inline --poll busy' '--aio inline --poll adaptive' \
	'--aio threads --iothreads 2' '--delay uniform:1us,100us'; do
	# shellcheck disable=SC2086 # words
	start --backend ram --size 64M $options --stats stats.json
	# shellcheck disable=SC2086
	stock_passes --iodepth=32 $job --bsrange=512-4M --bs_unaligned=0 --size=32m
	# shellcheck disable=SC2086
	stock_passes --iodepth=256 --numjobs=4 --offset_increment=8m $job --bs=4k --size=4m
	# shellcheck disable=SC2086
	stock_passes --iodepth=1 $job --bs=16k --size=4m --fsync=8
	target_said_nothing
	stop_target
	holds stats.json "sums('errors') == 0" "sums('requests', 'write') >= 4 * 1024" \
		"sums('requests', 'flush') >= 16"
done

start --backend ram --size 16M
stock_passes --name=job --rw=write --bs=1m --size=16m
stock_passes --name=job --rw=randtrim --bs=64k --size=16m --iodepth=8
stock_passes --name=job --rw=read --bs=1m --size=16m --verify=pattern --verify_pattern=0x00
