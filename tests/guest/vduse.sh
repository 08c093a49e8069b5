#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --export vduse in the guest: Linux's own driver, through virtio_vdpa, finds a disk in each ring and
# way of waiting that the target has, which it gives up and takes again, and virtio-poll finds it
# through vhost-vdpa.
# timeout: 300
. "$(dirname "$0")/guest.sh"
. "$SRC/tests/guest/vduse-guest.sh"
requires_built engines/virtio-poll.so

# shellcheck disable=SC2016 # expanded in the guest
guest "$vduse_words"'
write="--rw=randwrite --verify=crc32c --size=4m"
truncate -s 64M image
check "served" serve --backend file:image --num-queues 2 --iothreads 2
check "two queues" is 2 sh -c "ls /sys/block/${disk#/dev/}/mq | wc -l"
check "packed rings" has_bit 34
check "an event index" has_bit 29
check "indirect descriptors" has_bit 28
for depth in 1 32 256; do
	check "verify at depth $depth" io $disk $write --iodepth=$depth
done
check "two jobs" io $disk $write --numjobs=2 --offset_increment=8m
check "flushes" io $disk $write --fsync=4
check "requests of up to 1 MiB" io $disk --rw=randwrite --verify=crc32c --bsrange=512-1m --blockalign=512 --bs_unaligned=0 --size=8m
check "data at 16 MiB" io $disk --rw=write --bs=64k --offset=16m --size=4m
check "trims" blkdiscard -o $((16 << 20)) -l $((1 << 20)) $disk
check "zeroes written" blkdiscard -z -o $((18 << 20)) -l $((1 << 20)) $disk
check "zeroes where it was trimmed" zeroes $disk 16 1
check "zeroes where they were written" zeroes $disk 18 1
check "data in between" fails "should be 0" zeroes $disk 17 1
check "the last thing verified, before it is given up" io $disk $write --iodepth=32
check "the driver gives it up" drive none
check "and takes it again" drive virtio_vdpa
find_disk
check "what was verified last is there" io $disk $write --iodepth=32 --verify_only=1
check "vhost-vdpa takes it" drive vhost_vdpa
waits_for test -c /dev/vhost-vdpa-0
for rings in 0 1; do
	for wait in poll block; do
		check "virtio-poll, packed=$rings, wait_mode=$wait" job $write --packed=$rings --wait_mode=$wait --iodepth=32
	done
done
check "two processes" job $write --numjobs=2 --offset_increment=8m --iodepth=8
check "Linux takes it back" drive virtio_vdpa
find_disk
check "and finds what the engine wrote" io $disk $write --offset=8m --iodepth=8 --verify_only=1
check "off the bus, the target ends and leaves nothing" finish

for policy in off busy adaptive; do
	check "served, --poll $policy" serve --backend file:image --poll $policy --no-packed --stats stats.json
	check "split rings" lacks_bit 34
	check "verify, --poll $policy" io $disk $write --iodepth=4
	check "the target ends" finish
	kicks=$(sed -n "s/.*\"received\": \([0-9]*\).*/\1/p" stats.json)
	case $policy in
	busy) check "a ring that is polled is not kicked" test $kicks = 0 ;;
	off) check "one that is not is kicked" test $kicks -gt 100 ;;
	esac
done
serve --backend file:image --export vduse:second --socket socket
check "another one in the same target" vdpa dev add name second mgmtdev vduse
check "beside a socket" test -S socket
check "which vhost-vdpa takes" waits_for test -c /dev/vhost-vdpa-0
check "the engine writes it" job $write --iodepth=4
check "Linux finds it on the first" io $disk $write --iodepth=4 --verify_only=1
vdpa dev del second
check "the target ends" finish
check "neither is left" is control ls /dev/vduse
check "a command is told of the device" vhost-user-blk-target --export vduse:disk --run "test -c \$device && test \$device = /dev/vduse/disk"
check "without permission" fails "cannot open /dev/vduse/control: Permission denied (be root, or make it yours)" \
	/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups vhost-user-blk-target --export vduse:disk
check "memory, read only, a block size of 4K" serve --backend ram --size 16M --read-only --block-size 4K
check "it is read only" is 1 cat /sys/block/${disk#/dev/}/ro
check "its blocks have 4 KiB" is 4096 cat /sys/block/${disk#/dev/}/queue/logical_block_size
check "the target ends" finish
' --timeout 280 "${vduse_files[@]}" --file "$(command -v setpriv):/usr/bin/setpriv" --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so"
