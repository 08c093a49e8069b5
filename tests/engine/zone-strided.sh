#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# zonemode=strided stays in its zones.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
fio_passes --name=job --rw=write --bs=4k --zonemode=strided --zonesize=64k --zonerange=256k \
	--zoneskip=768k --size=4m --io_size=4m --iodepth=8 --write_bw_log=x --write_iolog=log
holds fio.json "jobs[0]['write']['total_ios'] > 0"
# In each mebibyte only the first 256 KiB.
awk '$2 == "write" && $3 % 1048576 >= 262144 { bad = 1 } END { exit bad }' log ||
	fail "wrote between the zones"
