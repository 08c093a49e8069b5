#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written is read back through every server, on both datapaths, with one connection
# (simple replies) and four (structured ones), at any depth, among trims and flushes, with FUA.
. "$(dirname "$0")/servers.sh"

sizes=--bssplit=512/20:4k/50:64k/20:1m/5:4m/5

each_datapath()
{
	local connections=$1 datapath
	shift
	for datapath in direct libnbd; do
		fio_passes --datapath=$datapath --connections="$connections" \
			--structured_replies=$((connections > 1)) --verify=crc32c "$@"
	done
}

# Processes and threads, each in its own part of the device.
trial()
{
	local connections
	for connections in 1 $1; do
		each_datapath "$connections" --rw=randrw $sizes --iodepth=16 --fsync=32 \
			--name=a --size=8m --name=b --size=8m --offset=8m \
			--name=c --size=8m --offset=16m --thread --name=d --size=8m --offset=24m --thread \
			--name=one --size=1m --offset=32m --bssplit=4k --iodepth=1 \
			--name=deep --size=4m --offset=40m --bssplit=4k --iodepth=256 --fua=1 \
			--name=trims --size=4m --offset=48m --bssplit=4k --rw=randtrimwrite --serialize_overlap=1
	done
}

serve_target --backend ram --size 64M
trial 4
serve_nbdkit memory size=64M
trial 4
truncate -s 64M disk.raw
serve_nbdkit file disk.raw
trial 4
if qemu-nbd --version >/dev/null 2>&1; then
	serve_qemu_nbd -e 64
	trial 4
fi
if PATH=$PATH:/usr/sbin command -v nbd-server >/dev/null; then
	serve_nbd_server 'flush = true' 'fua = true' 'trim = true'
	trial 4
fi
