#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# ublk-target in the guest: fio's own engines and a file system on /dev/ublkbN, which is gone
# when the target ends, however that comes.
# timeout: 600
. "$(dirname "$0")/guest.sh"

requires_built targets/ublk-target
target=$FIO_DATAPLANE/targets/ublk-target
for program in mkfs.ext4 fsck.ext4 setpriv; do
	program=$(PATH=$PATH:/usr/sbin:/sbin command -v $program) || skip "needs $program"
	files+=(--file "$program")
done
tar -C "$SRC" -cf tree.tar targets engines wire base docs
policies=$("$target" --describe | /usr/bin/python3 -c '
import json, sys
print(*next(o["choices"] for o in json.load(sys.stdin)["options"] if o.get("name") == "poll"))')

# shellcheck disable=SC2016 # expanded in the guest
guest 'policies="'"$policies"'"
modprobe ublk_drv
# on OPTIONS JOB...: fio on the device of a target with these options
on()
{
	local options=$1
	shift
	ublk-target --size 64M --stats stats.json $options --run "fio --name=io --filename=\$device --allow_file_create=0 --direct=1 --bs=4k --size=2m $*"
}
# serve ARG...: a target in the background, its device 5, its process $pid
serve()
{
	ublk-target --device 5 "$@" 2>target.err &
	pid=$!
	waits_for test -b /dev/ublkb5
}
# idle: of three seconds the target takes less than 1 %
idle()
{
	local before after
	before=$(awk "{ print \$14 + \$15 }" /proc/$pid/stat)
	sleep 3
	after=$(awk "{ print \$14 + \$15 }" /proc/$pid/stat)
	[ $((after - before)) -lt 3 ] || { echo "$((after - before)) ticks"; return 1; }
}
gone()
{
	! ls -d /dev/ublk[bc]* /sys/block/ublk* 2>/dev/null
}
written()
{
	grep -q "ublkb5 [0-9]* [0-9]* [0-9]* [0-9]* [1-9]" /proc/diskstats
}
job_fails()
{
	! wait $fio
}
write="--rw=randwrite --verify=crc32c"

for engine in libaio io_uring; do
	for depth in 1 32 128; do
		check "$engine: verify at depth $depth" on "--backend ram" $write --ioengine=$engine --iodepth=$depth
	done
done
check "the device is gone with the target" gone
check "requests of 1 MiB" on "--backend ram" $write --ioengine=libaio --iodepth=8 --bs=1m --size=16m
check "requests larger than that" on "--backend ram" $write --ioengine=libaio --iodepth=4 --bs=4m --size=16m
check "blocks of 4096" on "--backend ram --block-size 4096" $write --ioengine=libaio --iodepth=8
check "a target that keeps nothing is found out" fails "verify" on "--backend null" $write --ioengine=libaio --iodepth=8
for policy in $policies; do
	check "--poll $policy" on "--backend ram --poll $policy" $write --ioengine=libaio --iodepth=16 --size=1m
done
queues="--num-queues 2 --iothreads 2"
split="--numjobs=2 --offset_increment=16m --cpus_allowed=0-1 --cpus_allowed_policy=split"
check "two queues on two iothreads" on "--backend ram $queues" $write $split --ioengine=io_uring --iodepth=32
check "both have served" sh -c "! grep -q \"\\\"write\\\": 0\" stats.json"
check "two queues on one of them" on "--backend ram $queues --iothread-map 1" $write $split --ioengine=io_uring --iodepth=32
check "a queue of one request" on "--backend ram --queue-size 1" $write --ioengine=libaio --iodepth=8 --size=1m
check "delays and a ceiling" on "--backend ram --delay exp:1ms --device-parallel 4" $write --ioengine=libaio --iodepth=32

dd if=/dev/zero of=disk bs=1M count=64 2>/dev/null
for aio in threads io_uring inline; do
	check "--aio $aio: verify" on "--backend file:disk --size 64M --aio $aio" $write --ioengine=libaio --iodepth=32
	check "--aio $aio: flushes" on "--backend file:disk --aio $aio" --rw=randwrite --fsync=4 --ioengine=libaio --iodepth=4 --size=1m
	check "they arrive" grep -q "\"flush\": [1-9]" stats.json
	check "--aio $aio: trims" on "--backend file:disk --aio $aio" --rw=trim --ioengine=libaio --iodepth=8 --bs=64k
	check "they read as zeroes" zeroes disk 0 2
done
zero_copy="--backend file:disk --aio io_uring --zero-copy"
if ublk-target $zero_copy --run true 2>told; then
	for depth in 1 32 128; do
		check "zero copy: verify at depth $depth" on "$zero_copy" $write --ioengine=libaio --iodepth=$depth
	done
	check "zero copy: 1 MiB, delays, two queues" on "$zero_copy $queues --delay exp:1ms" $write --ioengine=io_uring --iodepth=8 --bs=1m --size=16m
	check "zero copy: FUA, trims" on "$zero_copy" --rw=randtrimwrite --sync=1 --ioengine=libaio --iodepth=8
	check "zero copy: errors" fails "Input/output error" on "$zero_copy --error-rate 1" --rw=read --ioengine=libaio
else
	check "without zero copy in the kernel that is said" grep -q "zero-copy: this kernel.s ublk driver has none: Linux 6.16" told
fi
check "an error is one" fails "Input/output error" on "--backend ram --error-rate 1" --rw=read --ioengine=libaio

serve --backend ram --size 64M
check "write zeroes" sh -c "dd if=/dev/urandom of=/dev/ublkb5 bs=1M count=4 2>/dev/null; /usr/bin/blkdiscard -f -z -l 2M /dev/ublkb5"
check "are zeroes" zeroes /dev/ublkb5 0 2
check "and no more" fails . zeroes /dev/ublkb5 2 2
check "the number is taken" fails "5 is served by process $pid" ublk-target --device 5
check "and stays" fails "5 is served by process $pid" ublk-target --device 5 --remove
mkfs.ext4 -q /dev/ublkb5
mkdir /mnt tree
check "a file system is mounted" mount -t ext4 /dev/ublkb5 /mnt
tar -C tree -xf /usr/bin/tree.tar
check "a tree is unpacked" tar -C /mnt -xf /usr/bin/tree.tar
umount /mnt
check "fsck finds nothing" fsck.ext4 -fn /dev/ublkb5
mount -t ext4 /dev/ublkb5 /mnt
rmdir /mnt/lost+found || true
check "the tree is what it was" diff -r tree /mnt
umount /mnt
check "an idle target takes no CPU" idle
kill $pid
check "the target ends" wait $pid
check "the device is gone" gone

serve --backend ram --size 64M --device 6
check "two devices" waits_for test -b /dev/ublkb6
check "the first" io /dev/ublkb5 $write --size=4m --verify_pattern=0x5
check "the second" io /dev/ublkb6 $write --size=4m --verify_pattern=0x6
check "the first has kept its data" io /dev/ublkb5 $write --size=4m --verify_pattern=0x5 --verify_only=1
kill $pid
check "the target ends" wait $pid
check "both are gone" gone
serve --backend ram --size 64M
io /dev/ublkb5 --rw=randwrite --time_based=1 --runtime=60 >fio.out 2>&1 & fio=$!
check "a device in use" waits_for written
kill $pid
check "the target ends all the same" wait $pid
check "the job fails" job_fails
check "the device is gone" gone
serve --backend ram --size 16M
sleep 100 </dev/ublkb5 & holder=$!
kill $pid
check "the target does not wait for who has it open" wait $pid
check "but says so" grep -q "ublk5: still open somewhere" target.err
check "the number is not free yet" fails "5 was removed, but is still open somewhere" ublk-target --device 5
kill $holder
wait $holder || true
check "then it is" serve --backend ram --size 16M
kill $pid
wait $pid

serve --backend ram --size 16M --read-only
check "read-only" is 1 cat /sys/block/ublkb5/ro
check "cannot be written" fails . dd if=/dev/zero of=/dev/ublkb5 bs=4k count=1 oflag=direct
kill $pid
wait $pid
check "a service time of minutes does not keep it" sh -c "ublk-target --device 5 --delay fixed:100s & sleep 2; kill \$!; wait \$!"
check "the device is gone" gone

chmod 666 /dev/ublk-control
sh -c "until chown 1000:1000 /dev/ublkc* 2>/dev/null; do sleep 0.1; done; until chown 1000:1000 /dev/ublkb* 2>/dev/null; do sleep 0.1; done" &
chmod 777 .
check "an unprivileged user" /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups ublk-target --backend ram --size 64M \
	--run "until [ -w \$device ]; do sleep 0.1; done; fio --name=io --filename=\$device --allow_file_create=0 --direct=1 --ioengine=libaio --iodepth=16 --size=4m $write"
check "the device is gone" gone
' --timeout 580 --file "$target" --file tree.tar --file /etc/mke2fs.conf:/etc/mke2fs.conf "${files[@]}"
