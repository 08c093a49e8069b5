#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each --socket is a device of its own, with its own data; one iothread serves them all.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 8M --num-queues 1 --socket other --stats stats.json
mine=$socket
socket=
fio_passes --rw=randwrite --bs=4k --iodepth=16 --verify=crc32c --size=8m \
	--name=a --socket="$mine" --name=b --socket=other
# What one has written is not on the other.
write()
{
	fio_passes --rw=write --bs=4k --size=1m --verify=pattern --verify_pattern="$2" --name=job --socket="$1"
}
write "$mine" 0xaa
write other 0x55
fio_passes --rw=read --bs=4k --size=1m --verify=pattern --verify_pattern=0xaa --name=job --socket="$mine"
fio_fails verify --rw=read --bs=4k --size=1m --verify=pattern --verify_pattern=0xaa --name=job --socket=other
stop_target
holds stats.json "len(threads) == 1" "sums('requests', 'write') >= 2 * 2048"
[ ! -e other ] || fail 'a socket is left'
