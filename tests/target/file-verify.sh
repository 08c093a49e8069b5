#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is written to a file in each way is in the file, and is read again in each other way.
. "$(dirname "$0")/../fio.sh"

job=(--size=4m --rw=randwrite --verify=crc32c --verify_fatal=1 --iodepth=32 --fsync=64
	--bssplit=512/20:1k/10:4k/30:12k/10:64k/20:256k/10)
jobs=(--name=first "${job[@]}" --name=second "${job[@]}" --offset=4m --randseed=7)
truncate -s 8M disk
previous=inline
for aio in threads "native --direct" io_uring "io_uring --sqpoll" inline; do
	for how in '--poll off' '--poll busy --direct'; do
		# shellcheck disable=SC2086 # words
		start_target --backend "file:$PWD/disk" --aio $aio $how --num-queues 2 --stats stats.json
		fio_passes "${jobs[@]}"
		stop_target || fail "$aio $how: status $?"
		holds stats.json "sums('errors') == 0" "sums('requests', 'write') > 100" \
			"sums('requests', 'flush') > 1"
	done
	# shellcheck disable=SC2086 # words
	start_target --backend "file:$PWD/disk" --aio $previous --num-queues 2
	fio_passes --verify_only=1 "${jobs[@]}"
	stop_target
	previous=$aio
done
[ "$(stat -c %s disk)" = $((8 << 20)) ] || fail "the file has another size"
