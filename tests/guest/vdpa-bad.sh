#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device of the vDPA bus that breaks the protocol, describes itself wrongly, refuses, stays silent or dies
# ends the job with a sentence, and whoever may not open it is told so.
# timeout: 240
. "$(dirname "$0")/guest.sh"
requires_built engines/virtio-poll.so
PATH=$PATH:/usr/sbin
requires vdpa -V
requires "${CC:=cc}" --version
$CC -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -o bad-vduse "$SRC/tests/guest/bad-vduse.c"

# shellcheck disable=SC2016 # expanded in the guest
guest '
modprobe vduse
modprobe vhost_vdpa
node=/dev/vhost-vdpa-0
job()
{
	fio --name=job --ioengine=external:/usr/lib/virtio-poll.so --transport=vhost-vdpa --device=$node --stuck_timeout=2 --rw=randread \
		--bs=4k --size=1m "$@"
}
# device NAME ARG...: bad-vduse in the background, on the bus
device()
{
	name=$1
	bad-vduse "$@" &
	daemon=$!
	waits_for test -e /dev/vduse/$name
	waits_for vdpa dev add name $name mgmtdev vduse 2>/dev/null
	waits_for test -c $node
}
away()
{
	vdpa dev del $name
	kill $daemon
	wait $daemon
}
# wrong TEXT ARG...: of a device with ARG...
wrong()
{
	local text=$1
	shift
	device d "$@"
	check "refused: $*" fails "$text" job
	away
}
wrong "it is no disk (virtio device 1, a disk is 2)" id=1
wrong "does not offer features 0x100000000" without=32
wrong "the device has size 0" capacity=0
wrong "go past the end of the device, 512 bytes" capacity=1
wrong "blocks of 513 bytes, which is no multiple of 512" blk_size=513
wrong "takes no request of as many" blk_size=0xfffffe00
wrong "takes no request of as many" size_max=1
wrong "it says that it has no queue" num_queues=0
wrong "has queues of at most 2 entries, 128 are needed" vq_size=2
wrong "it refuses features" refuse-features
wrong "does not map" refuse-map
wrong "it does not start" refuse-start

for mode in spin block; do
	for how in used-index used-id not-a-head used-twice; do
		device d $how
		check "$how ends the job ($mode)" fails "breaks the protocol: it says that it has completed what is not in flight" \
			job --iodepth=4 --wait_mode=$mode
		away
	done
	device d bad-status
	check "a status out of nowhere is an error ($mode)" fails "Input/output error" job --wait_mode=$mode
	away
	device d used-length
	check "the length that it says it wrote is nothing to go by ($mode)" job --wait_mode=$mode --iodepth=4
	away
done
device d silent
check "changes of the configuration are heard, and do not end a wait" fails "no answer from .* for 2 s" job --wait_mode=block --dp_stats=heard
sleeps=$(sed -n "s/.*\"sleeps\": *\([0-9]*\).*/\1/p" heard.job.1.json)
check "and are taken note of once each: $sleeps sleeps in 2 s" [ "$sleeps" -ge 5 -a "$sleeps" -le 40 ]
away
device d well
check "it is well" job --wait_mode=block --iodepth=16
check "each process opens a device of its own, which is one too many" fails "create_serialize=0 has every process" \
	job --create_serialize=0 --numjobs=2 --time_based --runtime=2
mkdir -p /etc
echo "user:x:1000:1000::/:/bin/sh" >/etc/passwd
check "not for everybody" fails "no permission to open it" su user -c "fio --name=job --ioengine=external:/usr/lib/virtio-poll.so \
	--transport=vhost-vdpa --device=$node --rw=read --size=4k"
away
device d die
echo 3 >/sys/class/vduse/d/msg_timeout
check "its daemon dies" fails "no answer from" job
check "its daemon is gone" fails "it cannot be reset: the daemon behind it is gone" job
' --timeout 200 --file "$FIO_DATAPLANE/engines/virtio-poll.so:/usr/lib/virtio-poll.so" \
	--file bad-vduse --file "$(command -v vdpa):/usr/bin/vdpa"
