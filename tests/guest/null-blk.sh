#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# null_blk, set up by scripts/null_blk where it exists, as the block device behind a target
# with fio on it, all of them in the guest, in each way of --aio.
# timeout: 240
. "$(dirname "$0")/guest.sh"

files=(--file "$SRC/scripts/null_blk")
for file in targets/vhost-user-blk-target engines/vhost-user-blk.so; do
	requires_built $file
	files+=(--file "$FIO_DATAPLANE/$file:/dp/$file")
done
# shellcheck disable=SC2016 # expanded in the guest
guest '
export FIO_DATAPLANE=/dp
# behind AIO JOB...: a target on the disk, and fio on the target
behind()
{
	local aio=$1
	shift
	/dp/targets/vhost-user-blk-target --backend "file:$disk" --direct --aio $aio --block-size 4096 \
		--run "fio --ioengine=external:/dp/engines/vhost-user-blk.so --socket=\$socket --bs=4k --iodepth=8 $*"
}
refuses()
{
	local text=$1
	shift
	! "$@" 2>/tmp/refused || return
	grep -q -e "$text" /tmp/refused || { cat /tmp/refused; return 1; }
}

check "what the driver does not have is refused" refuses "colour.*memory_backed" null_blk up colour=red
check "so is what it does not take" refuses "blocksize=1000000" null_blk up blocksize=1000000
check "and nothing is left" sh -c "! ls -d /sys/block/nullb* /sys/module/null_blk /sys/kernel/config/nullb"

disk=$(null_blk up memory_backed=1 size=64M blocksize=4096 discard=1)
check "the device is there" test -b $disk
check "its blocks are as asked" is 4096 cat /sys/block/${disk##*/}/queue/logical_block_size
check "its size is as asked" is 131072 cat /sys/block/${disk##*/}/size
check "a second set is refused" refuses "up already" null_blk up
for aio in inline threads native io_uring; do
	check "$aio: randwrite verify" behind $aio --name=job --rw=randwrite --verify=crc32c --size=2m
	check "$aio: discards" behind $aio --name=job --rw=trim --size=2m
	check "$aio: they read as zeroes" zeroes $disk 0 2
done
check "blocks smaller than the device has are refused" refuses "accepts 4096" \
	/dp/targets/vhost-user-blk-target --backend file:$disk --direct --run true
check "down" null_blk down
check "the device is gone" test ! -e $disk
check "so is the driver" test ! -e /sys/module/null_blk

disk=$(null_blk up memory_backed=1 size=64 badblocks=+8-8)
for aio in inline threads native io_uring; do
	check "$aio: a bad block is an error" refuses "Input/output error" \
		behind $aio --name=job --rw=read --size=64k
done
check "down" null_blk down

disk=$(null_blk up memory_backed=1 size=64M poll_queues=1 discard=1)
for aio in "io_uring --iopoll" "io_uring --sqpoll" "io_uring --iopoll --sqpoll"; do
	for poll in off adaptive busy; do
		check "$aio, --poll $poll: randwrite verify, flushes" behind "$aio --poll $poll" --name=job --rw=randwrite --verify=crc32c --size=2m --fsync=16
	done
	check "$aio: discards" behind "$aio" --name=job --rw=trim --size=2m
done
check "--hybrid-iopoll works, or is refused with the kernel that has it" sh -c "/dp/targets/vhost-user-blk-target --backend file:$disk --direct --aio io_uring --hybrid-iopoll \
	--run true 2>/tmp/refused || grep -q \"Linux 6.13 and later\" /tmp/refused"
check "down" null_blk down
disk=$(null_blk up memory_backed=1 size=64M poll_queues=0)
check "a device without poll queues is refused" refuses "poll queues" \
	/dp/targets/vhost-user-blk-target --backend file:$disk --direct --aio io_uring --iopoll --run true
check "down" null_blk down

set -- $(null_blk up nr_devices=2 irqmode=2 completion_nsec=200000000)
check "two at once" test -b $1 -a -b $2
disk=$2
check "a request takes the time it is told" refuses "exceeds specified max" \
	behind native --name=job --rw=randread --number_ios=2 --max_latency=200ms
check "down" null_blk down
check "down again has nothing to do" null_blk down
' --timeout 200 "${files[@]}"
