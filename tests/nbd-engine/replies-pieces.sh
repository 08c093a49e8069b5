#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Reads are put together from chunks in any order, holes among them, however they arrive.
. "$(dirname "$0")/servers.sh"

serve_badly act=pieces
for datapath in direct libnbd; do
	fio_passes --structured_replies=1 --datapath=$datapath --name=job --rw=randrw --bssplit=512/30:4k/40:64k/30 --size=4m \
		--iodepth=8 --verify=crc32c
done
fio_passes --structured_replies=1 --name=zeroes --rw=read --bs=64k --offset=8m --size=8m --verify=pattern --verify_pattern=0x00
serve_badly act=bytes
fio_passes --structured_replies=1 --name=job --rw=randrw --bssplit=512/30:4k/60:64k/10 --size=1m --iodepth=8 --verify=crc32c
serve_badly structured=0
fio_passes --structured_replies=1 --name=job --rw=randrw --bssplit=512/30:4k/40:64k/30 --size=4m --iodepth=8 --verify=crc32c
