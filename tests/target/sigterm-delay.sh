#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A slow device does not keep the target from its end, nor --run from its own: what still waits for its service time
# after 2 s is answered.
. "$(dirname "$0")/../fio.sh"

for device in "--delay fixed:45s" "--delay fixed:1ms --device-iops 1" "--delay fixed:45s --aio threads"; do
	# shellcheck disable=SC2086 # options are words
	start_target --backend ram --size 16M --stats stats.json $device
	start_fio --name=job --rw=randwrite --bs=4k --iodepth=32 --number_ios=32 --size=1m --stuck_timeout=100
	wait_for 10 in_flight 32 || fail "$device: no requests"
	kill -TERM "$target_pid"
	stop_target || fail "$device: status $?"
	fio_ends 10
	[ "$fio_status" = 0 ] || { said; fail "$device: fio lost requests"; }
	holds fio.json "jobs[0]['error'] == 0" "jobs[0]['write']['total_ios'] == 32"
	holds stats.json "sums('requests', 'write') == 32" "sums('errors') == 0"
done

target=$FIO_DATAPLANE/targets/vhost-user-blk-target
cat >job.fio <<'END'
[job]
ioengine=external:${FIO_DATAPLANE}/engines/vhost-user-blk.so
socket=${socket}
rw=randread
bs=4k
size=1m
stuck_timeout=100
END
"$target" --backend ram --size 16M --delay fixed:45s --stats stats.json --run 'echo >ready; exec fio --output=log job.fio' 2>target.err &
target_pid=$!
wait_for 10 [ -e ready ] || fail "it runs nothing"
wait_for 10 in_flight 1 || fail "no requests"
kill -TERM "$target_pid"
! stop "$target_pid" 20 || fail "a job that was ended has succeeded"
holds stats.json "sums('requests', 'read') > 0" "sums('errors') == 0"
