#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Blocks of any size the device can address, fixed and mixed.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 128M --num-queues 12
fio_passes_each 16 --rw=randwrite --iodepth=4 --number_ios=64 --verify=crc32c <<END
--bs=512
--bs=1k
--bs=12k
--bs=64k
--bs=1m
--bs=4m
END
holds fio.json "[job['read']['total_ios'] for job in jobs] == [64, 64, 64, 64, 16, 4]"
fio_passes_each 8 --iodepth=16 --verify=crc32c <<END
--rw=randwrite --bssplit=512/50:4k/30:64k/20
--rw=randwrite --bsrange=512-128k
--rw=randwrite --bsrange=1536-8k
--rw=randwrite --bs=8k --blockalign=4k
--rw=write --bs=4k,16k
--rw=randwrite --bs=4k --norandommap --verify=pattern --verify_pattern=0xab
--rw=randrw --bs=4k,8k
--rw=randwrite --bs=4k --random_generator=lfsr
--rw=randwrite --bs=4k --random_distribution=zipf:1.1 --norandommap --verify=pattern --verify_pattern=0xcd
END
holds fio.json "all(job['write']['total_ios'] > 0 and job['read']['total_ios'] > 0 for job in jobs)"
# Sizes that fio rounds down to whole blocks; its verify does not like them.
fio_passes --name=job --size=8m --iodepth=16 --rw=randwrite --bssplit=4k/50:5000/50
