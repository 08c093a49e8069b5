# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of --export vduse share, on top of guest.sh: $vduse_files for the guest, and
# $vduse_words, which its commands begin with.

requires_built targets/vhost-user-blk-target
PATH=$PATH:/usr/sbin
requires vdpa -V
# shellcheck disable=SC2034 # for the tests
vduse_files=(--file "$FIO_DATAPLANE/targets/vhost-user-blk-target" --file "$(command -v vdpa):/usr/bin/vdpa")

# shellcheck disable=SC2016,SC2034 # expanded in the guest
vduse_words='
mkdir -m 1777 /dev/shm
for module in vduse vhost_vdpa virtio_vdpa; do
	modprobe $module
done
bus=/sys/bus/vdpa
# drive WHO: that driver takes the device from the one that has it; none for nobody
drive()
{
	[ ! -e $bus/devices/disk/driver ] || echo disk >$bus/devices/disk/driver/unbind
	[ $1 != none ] || return 0
	echo $1 >$bus/devices/disk/driver_override
	echo disk >$bus/drivers/$1/bind
	is $1 basename $(readlink $bus/devices/disk/driver)
}
find_disk()
{
	waits_for sh -c "ls -d $bus/devices/disk/virtio*/block" >/dev/null 2>&1
	disk=/dev/$(ls $bus/devices/disk/virtio*/block)
	waits_for test -b $disk
}
# target ARG...: a target with the device "disk", its process $pid
target()
{
	: >target.err
	vhost-user-blk-target --export vduse:disk "$@" 2>>target.err &
	pid=$!
}
# on_the_bus: when the target has the device; its file is there a moment before its queues are
on_the_bus()
{
	waits_for sh -c "[ -s target.err ] || ls -l /proc/$pid/fd | grep -q vduse/disk"
	waits_for sh -c "[ -s target.err ] || vdpa dev add name disk mgmtdev vduse" 2>/dev/null
	[ ! -s target.err ] || { cat target.err; return 1; }
}
# serve ARG...: the same, with Linux as driver, the disk $disk
serve()
{
	target "$@"
	on_the_bus
	drive virtio_vdpa
	find_disk
}
# finish: off the bus, then the target, which must end well and leave nothing
finish()
{
	vdpa dev del disk
	kill $pid
	wait $pid
	[ ! -s target.err ] || { cat target.err; return 1; }
	! ls -d /dev/vduse/disk /dev/shm/* 2>/dev/null
}
# has_bit N: the driver has taken this feature
has_bit()
{
	[ $(cut -c $(($1 + 1)) $bus/devices/disk/virtio*/features) = 1 ]
}
lacks_bit()
{
	! has_bit $1
}
job()
{
	fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vhost-vdpa --device=/dev/vhost-vdpa-0 --stuck_timeout=20 --bs=4k "$@"
}
'
