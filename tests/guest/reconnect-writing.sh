#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The target is killed while a guest writes, three times, and started again: QEMU has kept
# its record of what was in flight, and the guest finds everything written, in either ring.
# timeout: 400
. "$(dirname "$0")/guest.sh"

truncate -s 32M disk
new_target()
{
	start_target --backend "file:$PWD/disk" --num-queues 2 --iothreads 2 --delay exp:20ms --stats stats.json
}

for ring in '' --packed; do
	new_target
	# shellcheck disable=SC2016,SC2086 # expanded in the guest; none or one word
	start_guest /dev/null '
jobs="--rw=randwrite --verify=crc32c --numjobs=2 --size=16m --offset_increment=16m
	--cpus_allowed=0-1 --cpus_allowed_policy=split"
echo "writing: 1"
check "verify with a target that is killed meanwhile" io /dev/vda $jobs
check "the data is there for a later job" io /dev/vda $jobs --verify_only=1
' --queues 2 $ring
	guest_says "writing: 1"
	for _ in 1 2 3; do
		fio_runs
		sleep 0.5
		kill -KILL "$target_pid"
		wait "$target_pid" 2>/dev/null || true
		! grep -q '^ok\|^NOT' console.txt || fail "killed too late"
		new_target
	done
	guest_ends 0
	stop_target
	counted "no errors${ring:+, packed}" "sums('errors') == 0" "sums('requests', 'write') > 0"
done
