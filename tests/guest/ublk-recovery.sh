#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# ublk-target is killed while fio and a file system write, and started again: it takes its
# device over, and nothing that was acknowledged is lost.
# timeout: 600
. "$(dirname "$0")/guest.sh"

requires_built targets/ublk-target
for program in mkfs.ext4 fsck.ext4; do
	program=$(PATH=$PATH:/usr/sbin:/sbin command -v $program) || skip "needs $program"
	files+=(--file "$program")
done

# shellcheck disable=SC2016 # expanded in the guest
guest '
modprobe ublk_drv
patience=300
# serve ARG...: a target in the background, its process $pid
serve()
{
	ublk-target --device 5 --num-queues 2 --iothreads 2 "$@" 2>target.err &
	pid=$!
	waits_for served
}
served()
{
	kill -0 $pid 2>/dev/null && [ -b /dev/ublkb5 ] && dd if=/dev/ublkb5 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
}
# killed_by_turns WAY...: once for each, the next target with that --aio
killed_by_turns()
{
	local aio
	for aio; do
		sleep 0.5
		kill -KILL $pid
		wait $pid || true
		kill -0 $writer || { echo "killed too late"; return 1; }
		serve --backend file:disk --delay exp:10ms --aio $aio $zero_copy || { cat target.err; return 1; }
	done
}
gone()
{
	! ls -d /dev/ublk[bc]* /sys/block/ublk* 2>/dev/null
}

dd if=/dev/zero of=disk bs=1M count=64 2>/dev/null
zero_copy=
serve --backend file:disk --delay exp:10ms
jobs="--rw=randwrite --verify=crc32c --numjobs=2 --size=16m --offset_increment=16m"
io /dev/ublkb5 $jobs >fio.out 2>&1 & writer=$!
check "killed three times while fio writes" killed_by_turns io_uring inline threads
check "it has noticed nothing" wait $writer
check "the data is there for a later job" io /dev/ublkb5 $jobs --verify_only=1
kill $pid
check "the target ends" wait $pid
check "the device is gone" gone

serve --backend file:disk --delay exp:10ms
mkfs.ext4 -q /dev/ublkb5
mkdir /mnt
mount -t ext4 /dev/ublkb5 /mnt
sh -c "n=0
	until [ -e enough ]; do
		n=\$((n + 1))
		dd if=/dev/urandom of=/mnt/\$n bs=16k count=1 conv=fsync 2>/dev/null && md5sum /mnt/\$n || exit 1
	done >sums" & writer=$!
check "killed three times while files are written and synchronized" killed_by_turns threads io_uring inline
touch enough
check "no write has failed" wait $writer
umount /mnt
check "fsck finds nothing" fsck.ext4 -fn /dev/ublkb5
mount -t ext4 -o ro /dev/ublkb5 /mnt
check "some files were synchronized" test $(wc -l <sums) -gt 8
check "all of them are there" md5sum -c sums
umount /mnt

kill -KILL $pid
wait $pid || true
dd if=/dev/zero of=other bs=1M count=64 2>/dev/null
check "another file is refused" fails "5 was left by a target with another --backend" ublk-target --device 5 --backend file:other
check "so is another size" fails "5 was left by a target with another --size" ublk-target --device 5 --backend file:disk --size 1M
check "the number alone can be given up" ublk-target --device 5 --remove
check "the device is gone" gone
check "there is nothing left to remove" fails "5: there is no such device" ublk-target --device 5 --remove

if ublk-target --backend file:disk --aio io_uring --zero-copy --run true 2>told; then
	zero_copy=--zero-copy
	serve --backend file:disk --delay exp:10ms --aio io_uring $zero_copy
	io /dev/ublkb5 $jobs >fio.out 2>&1 & writer=$!
	check "zero copy: killed twice while fio writes" killed_by_turns io_uring io_uring
	check "it has noticed nothing" wait $writer
	kill -KILL $pid
	wait $pid || true
	check "without it, it is refused" fails "5 was left by a target with another .*--zero-copy" ublk-target --device 5 --backend file:disk
	check "the number alone can be given up" ublk-target --device 5 --remove
fi

serve --backend ram --size 16M
kill -KILL $pid
wait $pid || true
check "memory is not taken over, but the number is" serve --backend ram --size 16M
kill $pid
check "the target ends" wait $pid
check "the device is gone" gone
' --timeout 580 --file "$FIO_DATAPLANE/targets/ublk-target" --file /etc/mke2fs.conf:/etc/mke2fs.conf "${files[@]}"
