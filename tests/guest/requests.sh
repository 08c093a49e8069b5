#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# All kinds of requests Linux makes, over two queues served by two iothreads.
# timeout: 240
. "$(dirname "$0")/guest.sh"

start_target --backend ram --size 64M --num-queues 2 --iothreads 2 --poll adaptive --stats stats.json
# shellcheck disable=SC2016 # expanded in the guest
guest '
disk=/dev/vda sys=/sys/block/vda
two_jobs="--numjobs=2 --cpus_allowed=0-1 --cpus_allowed_policy=split --size=4m --offset_increment=4m"
check "the guest sees two queues" is 2 sh -c "ls $sys/mq | wc -l"
check "the guest sees the identity" is fio-dataplane cat $sys/serial
check "the guest sees a write cache" is "write back" cat $sys/cache_type
check "randwrite verify through libaio, two jobs" io $disk --rw=randwrite --verify=crc32c $two_jobs
check "randwrite verify through io_uring, two jobs" \
	io $disk --ioengine=io_uring --rw=randwrite --verify=crc32c $two_jobs
check "the data is there for a later job" \
	io $disk --rw=randwrite --verify=crc32c --verify_only=1 $two_jobs
check "mixed sizes from 512 to 1M, verify" io $disk --rw=randwrite --verify=crc32c --size=24m --offset=8m \
	--bssplit=512/20:1k/10:4k/20:12k/10:64k/15:256k/15:1m/10
check "mixed reads and writes with flushes" io $disk --rw=randrw --fsync=8 --size=4m

check "there is data before a discard" sh -c "! cmp -s -n 8388608 $disk /dev/zero"
check "discard" blkdiscard -o 0 -l 4M $disk
check "discarded blocks read as zeroes" zeroes $disk 0 4
check "write zeroes" blkdiscard -z -o 4M -l 4M $disk
check "they read as zeroes" zeroes $disk 4 4
check "data behind them was left alone" sh -c "! cmp -s -n 1048576 $disk /dev/zero 8388608"
check "discards through fio, each followed by a write" io $disk --rw=trimwrite --size=4m
' --queues 2
stop_target

counted "both iothreads had requests" "all(t['requests']['write'] > 500 for t in threads)"
counted "flushes counted" "sums('requests', 'flush') >= 64"
counted "discards counted" "sums('bytes', 'discard') == 8 << 20"
counted "write zeroes counted" "sums('bytes', 'write_zeroes') == 4 << 20"
counted "identities counted" "sums('requests', 'get_id') >= 1"
counted "nothing unknown, no errors" "sums('requests', 'unsupported') == 0" "sums('errors') == 0"
counted "polled and slept" "sums('poll_hits') > 0" "sums('sleeps') > 0"
