#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Parts of a device, up to its very last block.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
while read -r ios options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes --name=job --rw=randwrite --bs=4k --iodepth=16 --verify=crc32c $options
	holds fio.json "sum(job['write']['total_ios'] for job in jobs) == $ios"
done <<END
4096
256 --offset=4k --size=1m
256 --offset=15m --size=1m
256 --offset=15m
1 --offset=16773120 --size=4k
1 --offset=16773120
2048 --offset=50%
2048 --size=50%
1024 --numjobs=4 --size=1m --offset_increment=1m
4096 --numjobs=4 --size=4m --offset_increment=4m
244 --size=1000000
256 --offset=1m --size=1048577
1024 --io_size=4m --verify=0 --do_verify=0
END
# The last sector of all.
fio_passes --name=job --rw=write --bs=512 --offset=16776704 --verify=crc32c
