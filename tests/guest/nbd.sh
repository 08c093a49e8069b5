#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Linux's own nbd driver as the client of nbd-target, over a unix socket and over TCP. Both
# run in the guest, which so needs no network card.
# timeout: 240
. "$(dirname "$0")/guest.sh"

client=$(command -v nbd-client || command -v /usr/sbin/nbd-client) || skip "needs: nbd-client"
requires_built targets/nbd-target

unset socket
# shellcheck disable=SC2016 # expanded in the guest
guest '
modprobe nbd
ip link set lo up
disk=/dev/nbd0 sys=/sys/block/nbd0
# serves ARG...: start the target, and have the driver use it
serves()
{
	nbd-target --size 64M --stats stats.json "$@" 2>target.err &
	target=$!
	for i in $(seq 50); do
		nbd-client $connect $disk >/tmp/said 2>&1 && return
		sleep 0.2
	done
	cat /tmp/said target.err
	return 1
}
# served: disconnect, and look at how the target ends
served()
{
	nbd-client -d $disk >/tmp/said 2>&1 || { cat /tmp/said; return 1; }
	kill -TERM $target
	wait $target
	[ ! -s target.err ] || { cat target.err; return 1; }
}
forgets()
{
	! io $disk --rw=write --verify=crc32c --size=1m
}
# count KIND: how many of these requests were there
count()
{
	awk -v kind="\"$1\":" "/\"requests\"/ { in_it = 1 } /\"errors\"/ { in_it = 0 }
		in_it && \$1 == kind { n += \$2 } END { print n + 0 }" stats.json
}

connect="-unix /tmp/s -C 2"
serves --socket /tmp/s --backend ram --iothreads 2 --block-size 4096
check "the driver sees the size" is 131072 cat $sys/size
check "the driver sees a write cache" is "write back" cat $sys/queue/write_cache
check "the driver sees that blocks can be discarded" sh -c "[ \$(cat $sys/queue/discard_max_bytes) -gt 0 ]"
check "randwrite verify, two connections" io $disk --rw=randwrite --verify=crc32c --size=8m
check "mixed sizes up to 1M, verify" io $disk --rw=randwrite --verify=crc32c --size=16m --offset=8m \
	--bssplit=4k/30:12k/20:64k/20:256k/20:1m/10
check "mixed reads and writes with flushes" io $disk --rw=randrw --fsync=8 --size=2m
check "there is data before a discard" sh -c "! cmp -s -n 4194304 $disk /dev/zero"
check "discard" blkdiscard -o 0 -l 4M $disk
check "discarded blocks read as zeroes" zeroes $disk 0 4
check "write zeroes" blkdiscard -z -o 4M -l 4M $disk
check "they read as zeroes" zeroes $disk 4 4
check "the target saw no mistake" served
check "discards arrived" sh -c "[ $(count discard) -ge 1 ]"
check "flushes arrived" sh -c "[ $(count flush) -ge 32 ]"
check "nothing unknown" is 0 count unsupported

connect="127.0.0.1 10809"
serves --port 10809 --backend ram --aio threads --delay uniform:1us,2ms
check "verify over TCP, replies out of order" io $disk --rw=randwrite --verify=crc32c --size=4m
check "the target saw no mistake" served

connect="-unix /tmp/s"
serves --socket /tmp/s --backend ram --read-only
check "the driver sees that it is read-only" is 1 cat $sys/ro
check "reads of a read-only export" io $disk --rw=randread --size=4m
check "the target saw no mistake" served

serves --socket /tmp/s --backend ram --fail-after 2000
check "errors reach the driver" sh -c "! dd if=$disk of=/dev/null bs=4k count=4000 iflag=direct"
check "and are no end of it" served

serves --socket /tmp/s --backend null
check "a target that keeps nothing is noticed" forgets
check "the target saw no mistake" served
' --file "$FIO_DATAPLANE/targets/nbd-target" --file "$client" --timeout 200
