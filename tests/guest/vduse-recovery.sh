#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --export vduse in the guest: a device outlives its target, and the next one goes on with all that was
# in flight, so that nothing that Linux was told is written is lost; what cannot be taken over is refused.
# timeout: 300
. "$(dirname "$0")/guest.sh"
. "$SRC/tests/guest/vduse-guest.sh"

# shellcheck disable=SC2016 # expanded in the guest
guest "$vduse_words"'
killed()
{
	kill -$1 $pid
	wait $pid || true
}
truncate -s 64M image other
# again SIGNAL ARG...: end the target so, and have one with these options take the device over
again()
{
	killed $1
	shift
	target --backend file:image "$@"
	waits_for sh -c "[ -s target.err ] || ls -l /proc/$pid/fd | grep -q vduse/disk"
	[ ! -s target.err ] || { cat target.err; return 1; }
}
# by_turns ARG...: fio writes, much of it in flight, while the target with these options is killed and comes again
by_turns()
{
	io $disk --rw=randwrite --verify=crc32c --size=6m --iodepth=32 --numjobs=2 --offset_increment=8m >fio.out 2>&1 &
	local fio=$! n=0
	while [ $n -lt 6 ]; do
		sleep 0.5
		kill -0 $fio 2>/dev/null || break
		again KILL $*
		n=$((n + 1))
	done
	wait $fio || { cat fio.out; return 1; }
	[ $n -gt 2 ] || { echo "killed $n times only"; return 1; }
}
for rings in "" --no-packed; do
	options="--num-queues 2 --delay fixed:20ms $rings"
	check "served $rings" serve --backend file:image $options
	check "killed and taken over while it is written and verified" by_turns $options
	check "a second target is refused" fails "disk: it is served by another process" \
		vhost-user-blk-target --export vduse:disk --backend file:image $options
	check "it goes on after SIGTERM as well" again TERM $options
	check "and is what it was" io $disk --rw=randwrite --verify=crc32c --size=6m --iodepth=32 --numjobs=2 --offset_increment=8m --verify_only=1
	check "the target ends" finish
done

check "served once more" serve --backend file:image --num-queues 2
kill $pid
check "a target that ends says that the device stays" wait $pid
check "it has said so" grep -q "vduse disk: it stays, since it is on the vDPA bus" target.err
check "another file is refused" fails "disk: it was served with another --backend" vhost-user-blk-target --export vduse:disk --num-queues 2 --backend file:other
check "so is memory" fails "disk: it was served with another --backend" vhost-user-blk-target --export vduse:disk --num-queues 2 --backend ram --size 64M
mv /dev/shm/fio-dataplane-vduse-disk record
check "and one without a record" fails "disk: another program has a device of that name" vhost-user-blk-target --export vduse:disk --num-queues 2 --backend file:image
head -c 4000 record >/dev/shm/fio-dataplane-vduse-disk
chmod 600 /dev/shm/fio-dataplane-vduse-disk
check "and one with half of it" fails "disk: the record that an earlier target has left" vhost-user-blk-target --export vduse:disk --num-queues 2 --backend file:image
chmod 644 /dev/shm/fio-dataplane-vduse-disk
check "and one that anybody could write" fails "disk: a device of that name belongs to another user" vhost-user-blk-target --export vduse:disk --num-queues 2 --backend file:image
mv record /dev/shm/fio-dataplane-vduse-disk
target --backend file:image --num-queues 2
check "the right one takes it" io $disk --rw=randread --size=1m
check "the target ends" finish

# The kernel waits for an answer only so long, here for a second
timeout=/sys/devices/virtual/vduse/disk/msg_timeout
check "served" serve --backend file:image
echo 1 >$timeout
kill -STOP $pid
vdpa dev del disk 2>/dev/null || true
kill -CONT $pid
rc=0
wait $pid || rc=$?
check "a target that does not answer ends with status 1" test $rc = 1
check "it has said why" grep -q "vduse disk: the kernel has given the device up" target.err
waits_for test ! -e /dev/vduse/disk
check "served again" serve --backend file:image
echo 1 >$timeout
killed KILL
vdpa dev del disk 2>/dev/null || true
check "one that was taken off the bus without a target is made anew" serve --backend file:image
check "the target ends" finish

target --backend ram --size 16M
waits_for test -s /dev/shm/fio-dataplane-vduse-disk
killed KILL
check "a device that no driver has had is made anew" serve --backend file:image
check "the target ends" finish

check "memory is served" serve --backend ram --size 16M
killed KILL
check "memory is not taken over" fails "disk: the target that served it is gone, and the data with it" vhost-user-blk-target --export vduse:disk --backend ram --size 16M
' --timeout 280 "${vduse_files[@]}"
