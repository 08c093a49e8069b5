#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device of 4096-byte blocks.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --block-size 4096
fio_passes --name=job --rw=randwrite --bsrange=4k-64k --iodepth=32 --verify=crc32c
fio_passes --name=job --rw=randtrim --bs=4k --size=1m --iodepth=8
stop_target
start_target --backend ram --size 64M --block-size 64K
fio_passes --name=job --rw=randwrite --bs=64k --size=16m --iodepth=32 --verify=crc32c
