#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fill_device=1 goes from the offset to the end of the device, and no further. All engines.
. "$(dirname "$0")/../fio.sh"

fills()
{
	local wanted options
	while read -r wanted options; do
		# shellcheck disable=SC2086 # options are words
		fio_passes --name=job --fill_device=1 $options
		holds fio.json "jobs[0]['write']['io_bytes'] + jobs[0]['read']['io_bytes'] == $wanted << 10"
	done <<-END
		4096 --rw=write --bs=64k
		4096 --rw=write --bs=64k --iodepth=16 --direct=1
		4096 --rw=read --bs=4k
		3072 --rw=write --bs=64k --offset=1m
		4096 --rw=write --bs=64k --size=1g
		1024 --rw=write --bs=64k --size=1m
		8192 --rw=write --bs=64k --verify=crc32c
	END
}
each_engine fills --backend ram --size 4M
