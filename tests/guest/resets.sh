#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The driver goes and comes back, in every way a guest has, while the target goes
# on: most of them with requests in service, which take a while here.
# timeout: 240
. "$(dirname "$0")/guest.sh"

start_target --backend ram --size 16M --num-queues 2 --iothreads 2 --delay uniform:500us,3ms \
	--stats stats.json

# What each of them has: data that must outlast it all in the first 4.5 MiB, and I/O
# that may be cut off at any time behind it.
# shellcheck disable=SC2016 # expanded in the guest
reset_words='
keep="--rw=randwrite --verify=crc32c --size=4m"
endless()
{
	io /dev/vda --ioengine=io_uring --rw=randrw --offset=6m --size=4m --time_based --runtime=100 \
		--numjobs=2 >/tmp/endless 2>&1 &
	until grep -q "[1-9]" /sys/block/vda/inflight; do
		sleep 0.1
	done
}
# rebind DRIVERS DEVICE: take the device from its driver, and give it back
rebind()
{
	echo $2 >$1/unbind
	[ ! -e /sys/block/vda ]
	wait
	echo $2 >$1/bind
	[ -e /sys/block/vda ]
}
virtio=/sys/bus/virtio/drivers/virtio_blk pci=/sys/bus/pci/drivers/virtio-pci
virtio_device() { basename $(readlink -f /sys/block/vda/device); }
pci_device() { basename $(readlink -f /sys/block/vda/device/..); }
'
# The guest after a reboot is told from the one before by what is on the disk.
# shellcheck disable=SC2016 # expanded in the guest
guest "$reset_words"'
if [ "$(head -c 6 /dev/vda)" != second ]; then
	check "the data is written" io /dev/vda $keep --offset=512k
	for i in 1 2 3; do
		check "rebound, idle: $i" rebind $virtio $(virtio_device)
	done
	endless
	check "rebound, requests in service" rebind $virtio $(virtio_device)
	endless
	check "PCI device rebound, requests in service" rebind $pci $(pci_device)
	check "the data is still there" io /dev/vda $keep --offset=512k --verify_only=1
	check "both queues work" io /dev/vda --rw=randwrite --verify=crc32c --offset=12m --size=1m \
		--numjobs=2 --offset_increment=1m --cpus_allowed=0-1 --cpus_allowed_policy=split
	printf second | dd of=/dev/vda bs=512 conv=sync,fsync 2>/dev/null
	endless
	echo "ok reset of the machine, requests in service"
	echo b >/proc/sysrq-trigger
	sleep 100
fi
check "the data is still there after it" io /dev/vda $keep --offset=512k --verify_only=1
check "both queues work" io /dev/vda --rw=randwrite --verify=crc32c --offset=12m --size=1m \
	--numjobs=2 --offset_increment=1m --cpus_allowed=0-1 --cpus_allowed_policy=split
' --queues 2 --reboot
[ "$(grep -c 'the data is still there' console.txt)" = 2 ] || fail "the guest did not reboot"

# Another one, which is killed in the middle of its I/O.
# shellcheck disable=SC2016 # expanded in the guest
start_guest /dev/null "$reset_words"'
check "a second guest on the same target: the data is still there" \
	io /dev/vda $keep --offset=512k --verify_only=1
endless
echo running
wait
' --queues 2
guest_says running
kill -TERM "$guest_pid"
guest_ends 143
echo "ok the virtual machine killed, requests in service"

fio_passes --name=io --rw=randwrite --verify=crc32c --offset=512k --size=4m --bs=4k --iodepth=16 \
	--verify_only=1
holds fio.json "jobs[0]['read']['total_ios'] == 1024"
echo "ok fio-dataplane's own driver finds what the guest wrote"
stop_target
counted "no errors counted" "sums('errors') == 0"
