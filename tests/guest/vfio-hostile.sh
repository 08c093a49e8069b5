#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device under VFIO that breaks the protocol, or fails, ends the job with a sentence, and is fit for
# use after that. What the device would write wrong is written into the rings from aside.
# timeout: 180
. "$(dirname "$0")/guest.sh"
requires_built engines/virtio-poll.so

truncate -s 64M disk
# shellcheck disable=SC2016 # expanded in the guest
guest '
bdf=0000:00:01.0 pci=/sys/bus/pci/devices/0000:00:01.0
modprobe vfio_iommu_type1
modprobe vfio_pci
echo vfio-pci >$pci/driver_override
echo $bdf >$pci/driver/unbind
echo $bdf >/sys/bus/pci/drivers_probe
job="fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vfio-pci --device=$bdf --queue_size=128
	--stuck_timeout=30 --bs=4k"

# Places in a split ring of 128 entries (wire/vq-driver.c) and in the first request behind it (struct blk_slot)
used_index=2434 first_length=4104

# begin ARG...: a job without end in the background, which is $! and whose memory is $memory
begin()
{
	$job --rw=randread --size=4m --time_based --runtime=80 --iodepth=1 "$@" >heard 2>&1 &
	until memory=$(ls -l /proc/$!/fd 2>/dev/null | sed -n "s,.* \([0-9]*\) -> /memfd:fio-dataplane.*,/proc/$!/fd/\1,p" | head -n 1) &&
		[ -n "$memory" ] && [ $(od -An -tu2 -j $used_index -N 2 $memory) != 0 ]; do
		kill -0 $!
		sleep 0.1
	done
}
# spoil PLACE BYTES: until the job ends
spoil()
{
	while kill -0 $! 2>/dev/null; do
		printf "$2" | dd of=$memory bs=1 seek=$1 conv=notrunc 2>/dev/null || true
	done
	! wait $!
}
says()
{
	grep -q -e "$1" heard || { cat heard; return 1; }
}

for mode in spin block; do
	begin --wait_mode=$mode
	check "a used index out of nowhere ends the job ($mode)" spoil $used_index "\\377\\377"
	check "and it says so" says "breaks the protocol: it says that it has completed what is not in flight"
	begin --wait_mode=$mode
	check "a device that fails ends it too ($mode)" spoil $first_length "\\0\\0\\0\\0"
	check "and it says so" says "it has failed and asks to be reset"
	check "the device is fit for use" $job --rw=randwrite --verify=crc32c --size=1m --iodepth=32 --wait_mode=$mode
done
' --timeout 150 --iommu --disk disk --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so"
