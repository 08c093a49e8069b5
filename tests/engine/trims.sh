#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Trims, alone and between reads and writes, really clear, and carry no data.
. "$(dirname "$0")/../fio.sh"

zeroes='--rw=read --bs=4k --size=4m --iodepth=8 --verify=pattern --verify_pattern=0x00'
start_target --backend ram --size 4M --stats stats.json
fio_passes --name=fill --rw=write --bs=64k --size=4m
# shellcheck disable=SC2086 # words
fio_fails verify --name=check $zeroes
fio_passes --name=job --rw=randtrim --bs=4k --size=4m --iodepth=32
holds fio.json "jobs[0]['trim']['total_ios'] == 1024" "jobs[0]['write']['total_ios'] == 0"
# shellcheck disable=SC2086
fio_passes --name=check $zeroes
fio_passes --name=fill --rw=write --bs=64k --size=4m
# Blocks that are no whole page of the target's memory.
fio_passes --name=job --rw=trim --bs=512 --size=1m --iodepth=32 \
	--name=rest --stonewall --rw=trim --bs=3m --offset=1m --size=3m
# shellcheck disable=SC2086
fio_passes --name=check $zeroes
stop_target
holds stats.json "sums('requests', 'discard') == 1024 + 2048 + 1" \
	"sums('bytes', 'discard') == 8 << 20" "sums('errors') == 0"

start_target --backend ram --size 4M --stats stats.json
for rw in trimwrite randtrimwrite; do
	fio --parse-only --name=x --rw=$rw >/dev/null 2>&1 || continue
	fio_passes --name=job --rw=$rw --bs=4k --size=2m --iodepth=8 --verify=crc32c
	holds fio.json "jobs[0]['trim']['total_ios'] > 0" "jobs[0]['write']['total_ios'] > 0"
done
stop_target
holds stats.json "sums('requests', 'discard') > 0" "sums('errors') == 0"
