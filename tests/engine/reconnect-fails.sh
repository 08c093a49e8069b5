#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# reconnect=1 where it cannot be: the target does not come back, comes back as another, or
# is no process of its own; and a target that goes while no job runs does no harm.
. "$(dirname "$0")/../fio.sh"

kill_target()
{
	kill -KILL "$target_pid"
	wait "$target_pid" 2>/dev/null || true
}

for mode in block poll; do
	start_target --backend ram --size 8M --num-queues 2
	start_fio --reconnect=1 --stuck_timeout=2 --wait_mode=$mode --name=job --numjobs=2 --rw=randread --bs=4k \
		--iodepth=8 --time_based --runtime=60
	fio_runs
	kill_target
	fio_ends 20
	[ "$fio_status" != 0 ] || fail "success without a device"
	holds fio.json "[job['error'] for job in jobs] == [104, 104]"
	grep -q 'has not come back in 2 s (stuck_timeout)' fio.err || { said; fail "not a word of why"; }
done

start_target --backend ram --size 8M
start_fio --reconnect=1 --stuck_timeout=2 --name=job --rw=randread --bs=4k --time_based --runtime=60
fio_runs
kill_target
start_target --backend ram --size 4M
fio_ends 20
[ "$fio_status" != 0 ] || fail "went on with another device"
grep -q 'has not come back' fio.err || { said; fail "not a word of why"; }
stop_target

engine=external:$FIO_DATAPLANE/engines/virtio-poll.so
if fio --ioengine="$engine" --reconnect=1 --name=job --rw=read --size=4k >fio.err 2>&1; then
	fail "an embedded device cannot come back"
fi
grep -q 'reconnect=1 is for a device of another process' fio.err || { cat fio.err; fail "not a word of why"; }

# A job that starts while there is no target finds it there in time.
engine=external:$FIO_DATAPLANE/engines/$ENGINE.so
start_target --backend ram --size 8M
start_fio --reconnect=1 --name=first --rw=randread --bs=4k --size=1m --name=second --stonewall --startdelay=2 \
	--rw=randread --bs=4k --size=1m
fio_runs
sleep 0.5
kill_target
sleep 2
start_target --backend ram --size 8M
fio_ends 20
[ "$fio_status" = 0 ] || { said; fail "status $fio_status"; }
holds fio.json "[job['read']['total_ios'] for job in jobs] == [256, 256]"
