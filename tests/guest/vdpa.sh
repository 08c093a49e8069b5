#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio-poll drives a disk of the vDPA bus, which qemu-storage-daemon serves through VDUSE, by its vhost-vdpa
# file: what it writes is there for Linux's driver, in any ring and way of waiting, and a job that is
# killed leaves the device fit for use.
# timeout: 240
. "$(dirname "$0")/guest.sh"
requires_built engines/virtio-poll.so
requires qemu-storage-daemon --version
PATH=$PATH:/usr/sbin
requires vdpa -V
qemu-storage-daemon --help | grep -q vduse-blk || skip "this qemu-storage-daemon exports no vduse-blk"

# shellcheck disable=SC2016 # expanded in the guest
guest '
for module in vduse vhost_vdpa virtio_vdpa; do
	modprobe $module
done
job()
{
	fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vhost-vdpa --device=/dev/vhost-vdpa-0 --stuck_timeout=20 "$@"
}
# drive WHO: that driver takes the disk from the one that has it
drive()
{
	local device=/sys/bus/vdpa/devices/disk
	[ ! -e $device/driver ] || echo disk >$device/driver/unbind
	echo $1 >$device/driver_override
	echo disk >/sys/bus/vdpa/drivers/$1/bind
	is $1 basename $(readlink $device/driver)
}
write="--rw=randwrite --verify=crc32c --bs=4k"
two="--numjobs=2 --size=4m --offset_increment=4m"

check "no such file" fails "there is no such file" job --rw=read --size=4k
check "no such device" fails "no vhost-vdpa device" job --device=/dev/null --rw=read --size=4k
truncate -s 64M image
qemu-storage-daemon --blockdev driver=file,node-name=file,filename=image,discard=unmap \
	--export vduse-blk,id=e,node-name=file,name=disk,writable=on,num-queues=2,queue-size=256 2>daemon.err &
daemon=$!
check "the daemon has its device" waits_for test -e /dev/vduse/disk
check "the bus takes it" vdpa dev add name disk mgmtdev vduse
check "vhost-vdpa takes it" drive vhost_vdpa
waits_for test -c /dev/vhost-vdpa-0
for depth in 1 32 256; do
	check "verify at depth $depth, polling" job $write --iodepth=$depth --size=4m
	check "verify at depth $depth, blocking" job $write --iodepth=$depth --size=4m --wait_mode=block
done
check "a packed ring, which this daemon does not have, is refused" fails "packed" job $write --packed=1 --size=4k
check "verify without event index and indirect descriptors" \
	job $write --event_idx=0 --indirect=0 --iodepth=32 --size=4m --wait_mode=block
check "two processes, polling" job $write $two --iodepth=8 --wait_mode=poll
check "two threads, blocking" job $write $two --iodepth=8 --thread --wait_mode=block
check "more jobs than queues are refused" fails "3 queues are needed" job --rw=read --size=4k --numjobs=3
check "large requests and flushes" job --rw=randwrite --verify=crc32c --bsrange=512-1m --bs_unaligned=0 --blockalign=512 \
	--iodepth=4 --size=8m --fsync=4
check "data at 4 MiB" job --rw=write --bs=64k --offset=4m --size=4m
check "trims, at depth" job --rw=trim --bs=64k --offset=4m --size=2m --iodepth=8
fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vhost-vdpa --device=/dev/vhost-vdpa-0 --thread --rw=randread \
	--bs=4k --size=4m --time_based --runtime=60 --wait_mode=block >held.txt 2>&1 &
holder=$!
waits_for sh -c "ls -l /proc/$holder/fd | grep -q vhost-vdpa"
check "one process at a time" fails "another process has it open" job --rw=read --size=4k
kill $holder
wait $holder || true

# Jobs in a row, each of which leaves a file when all that it wrote is on the disk; killed in one of them
for n in $(seq 10 2 60); do
	echo "[part$n]
stonewall
offset=${n}m
exec_postrun=echo written"
done >jobs
fio --ioengine=external:/usr/lib/virtio-poll.so --transport=vhost-vdpa --device=/dev/vhost-vdpa-0 --thread --rw=randwrite \
	--verify=crc32c --do_verify=0 --bs=4k --iodepth=16 --size=2m --end_fsync=1 jobs >killed.txt 2>&1 &
fio=$!
check "a few parts are written" waits_for grep -qs written part20.postrun.txt
kill -KILL $fio
wait $fio || true
check "killed while it wrote" test ! -e part60.postrun.txt
check "the device is fit for use after SIGKILL" job $write --iodepth=32 --size=4m --wait_mode=block
check "Linux takes it" drive virtio_vdpa
disk=/dev/$(ls /sys/bus/vdpa/devices/disk/virtio*/block)
waits_for test -b $disk
check "the kernel finds what was verified last" io $disk $write --iodepth=32 --size=4m --verify_only=1
head -n $((4 * $(grep -l written part*.postrun.txt | wc -l))) jobs >acknowledged
written="--filename=$disk --direct=1 --ioengine=libaio --iodepth=16 $write --size=2m --verify_only=1"
check "nothing that was acknowledged is lost" fio $written acknowledged
check "what was never written is noticed" fails "bad magic header" fio $written jobs
check "the kernel finds zeroes where it was trimmed" zeroes $disk 4 2
check "the bus gives it back" vdpa dev del disk
kill $daemon
wait $daemon
' --timeout 200 --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so" \
	--file "$(command -v qemu-storage-daemon):/usr/bin/qemu-storage-daemon" --file "$(command -v vdpa):/usr/bin/vdpa"
