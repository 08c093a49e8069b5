#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# libblkio's virtio-blk driver, as QEMU's tools bring it, is a client of our target: data, flushes and
# discards, one request in flight and many, over split rings that it fills by itself.
. "$(dirname "$0")/../lib.sh"

requires qemu-io --version
# Its own words for a socket that nobody serves, rather than for a driver that it does not have.
nobody=$(qemu-img info --image-opts driver=virtio-blk-vhost-user,path=/nowhere,cache.direct=on 2>&1 || true)
grep -q 'No such file or directory' <<<"$nobody" || skip "this QEMU has no libblkio: $nobody"

start_target --backend ram --size 64M --num-queues 2 --poll adaptive --stats stats.json
disk=driver=virtio-blk-vhost-user,path=$socket,cache.direct=on
io()
{
	timeout 30 qemu-io --image-opts "$disk" "$@" >said.txt 2>&1 || { cat said.txt; fail "qemu-io: status $?"; }
	! grep -qi 'fail\|error' said.txt || { cat said.txt; fail "qemu-io $*"; }
}
timeout 30 qemu-img info --image-opts "$disk" | grep -q 'virtual size: 64 MiB' || fail "another size"
io -c 'write -P 0x5a 1M 3M' -c flush
# Another client, so that nothing comes from memory of its own.
io -c 'read -P 0x5a 1M 3M' -c 'discard 1M 1M' -c 'write -z 2M 1M' -c 'read -P 0 1M 2M' -c 'read -P 0x5a 3M 1M'
! qemu-io --image-opts "$disk" -c 'read -P 0x5b 3M 1M' >said.txt 2>&1 || fail "any pattern is right"
for depth in 1 32 128; do
	timeout 30 qemu-img bench -w -c 2000 -d $depth -s 4096 -t none --image-opts "$disk" >said.txt 2>&1 ||
		{ cat said.txt; fail "qemu-img bench: status $?"; }
done
stop_target
/usr/bin/python3 - <<'END'
import json
threads = json.load(open("stats.json"))["iothreads"]
def seen(kind):
	return sum(t["requests"][kind] for t in threads)
assert seen("write") >= 6001 and seen("read") >= 4, threads
assert seen("flush") > 0 and seen("discard") == 1 and seen("write_zeroes") == 1, threads
assert seen("unsupported") == 0 and sum(t["errors"] for t in threads) == 0, threads
END
