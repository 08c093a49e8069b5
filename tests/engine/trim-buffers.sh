#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job that only trims has no buffers, however large its blocks: these would be
# 64 GiB.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 1T
fio_passes --name=job --rw=randtrim --bs=1g --iodepth=64 --number_ios=200 --norandommap
holds fio.json "jobs[0]['trim']['total_ios'] == 200" "jobs[0]['trim']['io_kbytes'] == 200 << 20"
