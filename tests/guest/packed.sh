#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Linux and QEMU agree with the target about packed rings: requests of all kinds, and a
# driver that goes and comes back.
# timeout: 240
. "$(dirname "$0")/guest.sh"

start_target --backend ram --size 64M --num-queues 2 --iothreads 2 --poll adaptive --stats stats.json
# shellcheck disable=SC2016 # expanded in the guest
guest '
disk=/dev/vda
jobs="--rw=randwrite --verify=crc32c --numjobs=2 --size=4m --offset_increment=4m
	--cpus_allowed=0-1 --cpus_allowed_policy=split"
device=$(basename "$(readlink -f /sys/block/vda/device)")
check "the ring is packed" is 1 cut -c 35 /sys/bus/virtio/devices/$device/features
check "randwrite verify, two jobs" io $disk $jobs
check "mixed sizes from 512 to 1M, verify" io $disk --rw=randwrite --verify=crc32c --size=24m --offset=8m \
	--bssplit=512/20:1k/10:4k/20:12k/10:64k/15:256k/15:1m/10
check "discard" blkdiscard -o 0 -l 4M $disk
check "discarded blocks read as zeroes" zeroes $disk 0 4
echo $device >/sys/bus/virtio/drivers/virtio_blk/unbind
echo $device >/sys/bus/virtio/drivers/virtio_blk/bind
check "verify after the driver was bound anew" io $disk --ioengine=io_uring $jobs
' --queues 2 --packed
stop_target
counted "both iothreads had requests" "all(t['requests']['write'] > 500 for t in threads)"
counted "no errors" "sums('requests', 'unsupported') == 0" "sums('errors') == 0"
