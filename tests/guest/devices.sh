#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device of 4096-byte blocks from a target that never polls, a guest that has it
# twice, and a read-only one.
# timeout: 240
. "$(dirname "$0")/guest.sh"

start_target --backend ram --size 32M --block-size 4096 --poll off --iothreads 1 --stats stats.json
# shellcheck disable=SC2016 # expanded in the guest
guest '
queue=/sys/block/vda/queue
check "the guest sees blocks of 4096 bytes" is 4096 cat $queue/logical_block_size
check "the guest sees where a discard may begin" is 4096 cat $queue/discard_granularity
check "blocks of 4096 bytes, sizes up to 1M, verify" io /dev/vda --rw=randwrite --verify=crc32c \
	--bssplit=4k/50:8k/10:36k/20:256k/10:1m/10 --size=16m
check "discard of one block" blkdiscard -o 4k -l 4k /dev/vda
check "its neighbour was left alone" sh -c "! cmp -s -n 4096 /dev/vda /dev/zero 8192"

check "two clients at once write to halves of their own" io /dev/vda --rw=randwrite --verify=crc32c \
	--size=4m --name=second --filename=/dev/vdb --direct=1 --ioengine=libaio --iodepth=16 --bs=4k \
	--rw=randwrite --verify=crc32c --offset=4m --size=4m
check "what one client wrote the other reads" cmp -n 8388608 /dev/vda /dev/vdb
' --socket "$socket"
stop_target
counted "never polled, no errors" "sums('requests', 'write') > 2000" "sums('poll_ns') == 0" \
	"sums('sleeps') > 0" "sums('errors') == 0"

start_target --backend ram --size 16M --read-only --stats stats.json
guest '
check "the guest sees a read-only disk" is 1 cat /sys/block/vda/ro
check "reads" io /dev/vda --rw=randread --readonly
check "no write is let through" sh -c "! dd if=/dev/zero of=/dev/vda bs=4k count=1 conv=fsync"
check "no discard is let through" sh -c "! /usr/bin/blkdiscard -f /dev/vda"
check "the disk is as it was" zeroes /dev/vda 0 16
'
stop_target
counted "only reads counted" "sums('requests', 'read') >= 4096" "sums('requests', 'write') == 0" \
	"sums('requests', 'discard') == 0" "sums('errors') == 0"
