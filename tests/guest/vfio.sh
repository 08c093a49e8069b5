#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio-poll drives a disk of QEMU's own through VFIO: what it writes is there for Linux's driver,
# in any ring and way of waiting, and a job that is killed leaves the device fit for use.
# timeout: 240
. "$(dirname "$0")/guest.sh"
requires_built engines/virtio-poll.so

truncate -s 64M disk
# A device that the guest's IOMMU has no say in, as QEMU's are by themselves
start_target --backend ram --size 16M --stats stats.json
# shellcheck disable=SC2016 # expanded in the guest
guest '
past=0000:00:01.0 bdf=0000:00:02.0 pci=/sys/bus/pci/devices/0000:00:02.0
modprobe vfio_iommu_type1
modprobe vfio_pci

# drive WHO: that driver takes the disk, or that of $bdf and $pci, from the one that has it
drive()
{
	[ ! -e $pci/driver ] || echo $bdf >$pci/driver/unbind
	echo $1 >$pci/driver_override
	echo $bdf >/sys/bus/pci/drivers_probe
	is $1 basename $(readlink $pci/driver)
}
# job ARG...: fio on the disk through VFIO
job()
{
	fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$bdf --stuck_timeout=20 "$@"
}
# figure NAME FILE: what dp_stats= left of it
figure()
{
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -n 1
}
write="--rw=randwrite --verify=crc32c --bs=4k"
two="--numjobs=2 --size=2m --offset_increment=2m"

check "a disk that the kernel drives is refused" fails "virtio-pci drives it" job --rw=read --size=4k
check "vfio-pci takes it" drive vfio-pci
check "no such device" fails "no PCI device" job --rw=read --size=4k --device=0000:00:1e.7
check "no such address" fails "takes a PCI address" job --rw=read --size=4k --device=vda
(pci=${pci%/*}/$past bdf=$past; drive vfio-pci)
check "a device that does not go through the IOMMU is refused" fails "past the IOMMU" job --rw=read --size=4k --device=$past
for depth in 1 32 256; do
	check "verify at depth $depth, polling" job $write --iodepth=$depth --size=2m
	check "verify at depth $depth, blocking" job $write --iodepth=$depth --size=2m --wait_mode=block
done
check "verify, packed ring, polling" job $write --packed=1 --iodepth=32 --size=2m
check "verify, packed ring, blocking" job $write --packed=1 --iodepth=32 --size=2m --wait_mode=block
check "verify without event index and indirect descriptors" \
	job $write --event_idx=0 --indirect=0 --iodepth=32 --size=2m --wait_mode=block
check "two processes, polling" job $write $two --iodepth=8 --wait_mode=poll
check "two threads, blocking" job $write $two --iodepth=8 --thread --wait_mode=block
check "more jobs than queues are refused" fails "3 queues are needed" job --rw=read --size=4k --numjobs=3
check "large requests and flushes" job --rw=randwrite --verify=crc32c --bsrange=512-1m --bs_unaligned=0 --blockalign=512 \
	--iodepth=4 --size=8m --fsync=4
check "data at 4 MiB" job --rw=write --bs=64k --offset=4m --size=4m
check "trims, at depth" job --rw=trim --bs=64k --offset=4m --size=2m --iodepth=8
check "a job that polls" job --rw=randread --size=4m --iodepth=32 --dp_stats=poll
check "is never called" is 0 figure received poll.job.*.json
check "and stores less often than it submits" test "$(figure suppressed poll.job.*.json)" -gt 0
check "a job that blocks" job --rw=randread --size=4m --wait_mode=block --dp_stats=block
check "is called" test "$(figure received block.job.*.json)" -gt 0
echo 64 >/proc/sys/vm/nr_hugepages
check "huge pages" job $write --hugepages=1 --iodepth=8 --size=2m
echo 0 >/proc/sys/vm/nr_hugepages
mkdir -p /etc
echo user:x:1000:1000::/tmp:/bin/sh >/etc/passwd
mkdir -m 777 /tmp/user
group=$(basename $(readlink $pci/iommu_group))
as_user="su user -c"
small="cd user && fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$bdf --rw=randread --size=1m"
check "processes that would each set the device up are refused" \
	fails "create_serialize=0" job --rw=read --size=4k --create_serialize=0 --numjobs=2
check "another user may not" fails "no permission to open /dev/vfio/$group" $as_user "$small"
chown 1000 /dev/vfio/$group
check "unless it owns the group" $as_user "$small"
check "and locks no more than it may" fails "raise .ulimit -l." $as_user "$small --bs=1m --iodepth=32"
check "create_serialize=0" job $write --create_serialize=0 --iodepth=8 --size=1m

# Jobs in a row, each of which leaves a file when all that it wrote is on the disk; killed in one of them
for n in $(seq 10 2 60); do
	echo "[part$n]
stonewall
offset=${n}m
exec_postrun=echo written"
done >jobs
fio --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$bdf --thread --rw=randwrite \
	--verify=crc32c --do_verify=0 --bs=4k --iodepth=16 --size=2m --end_fsync=1 jobs >killed.txt 2>&1 &
waits_for grep -q written part20.postrun.txt 2>/dev/null
kill -KILL $!
wait $! || true
check "killed while it wrote" test ! -e part60.postrun.txt
check "the device is fit for use after SIGKILL" job $write --iodepth=32 --size=4m --wait_mode=block
fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$bdf --rw=randread \
	--time_based --runtime=60 --size=4m --wait_mode=block --iodepth=4 >unbound.txt 2>&1 &
waits_for grep -q 1 $pci/enable
check "the kernel takes it back while a job runs" drive virtio-pci
ends() { ! wait $1; }
check "the job ends with an error" ends $!
check "and says why" sh -c "grep \"the kernel wants it back\" unbound.txt || ! cat unbound.txt"

waits_for test -b /dev/$(basename $pci/virtio*/block/*)
disk=/dev/$(basename $pci/virtio*/block/*)
check "the kernel finds what was verified last" io $disk $write --iodepth=32 --size=4m --verify_only=1
head -n $((4 * $(grep -l written part*.postrun.txt | wc -l))) jobs >acknowledged
written="--filename=$disk --direct=1 --ioengine=libaio --iodepth=16 $write --size=2m --verify_only=1"
check "nothing that was acknowledged is lost" fio $written acknowledged
check "what was never written is noticed" fails "bad magic header" fio $written jobs
check "the kernel finds zeroes where it was trimmed" zeroes $disk 4 2
check "and data behind" sh -c "! cmp -s -n 1048576 $disk /dev/zero 6291456"
check "the kernel writes and verifies" io $disk $write --size=4m
check "vfio-pci takes it again" drive vfio-pci
check "what the kernel wrote is there" job $write --iodepth=16 --size=4m --verify_only=1
' --timeout 200 --iommu --disk disk --queues 2 --packed --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so"
stop_target
