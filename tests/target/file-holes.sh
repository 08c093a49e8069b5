#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A discard makes a hole in the file, in each way to it, and leaves what is beside it alone.
. "$(dirname "$0")/../fio.sh"

head -c 16M /dev/urandom >data
cp data disk
fallocate -p -o 4M -l 4M disk 2>/dev/null || skip "no holes in files here"
for aio in inline threads "native --direct" io_uring; do
	cp data disk
	sync disk
	before=$(du -k disk | cut -f 1)
	# shellcheck disable=SC2086 # words
	start_target --backend "file:$PWD/disk" --aio $aio --stats stats.json
	fio_passes --name=job --rw=trim --bs=64k --iodepth=8 --offset=4m --size=8m
	stop_target
	holds stats.json "sums('requests', 'discard') == 128" "sums('errors') == 0"
	after=$(du -k disk | cut -f 1)
	((before - after >= 8000)) || fail "$aio: $before KiB before, $after after"
	cmp -n $((4 << 20)) data disk
	cmp -n $((4 << 20)) -i $((12 << 20)) data disk
	cmp -n $((8 << 20)) -i $((4 << 20)):0 disk /dev/zero
done
