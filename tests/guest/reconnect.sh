#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The target dies while nothing is in flight and is started again, and the guest,
# whose QEMU connects anew, goes on. (What was in flight when a target dies: see
# reconnect-writing.sh.)
# timeout: 240
. "$(dirname "$0")/guest.sh"

new_target()
{
	start_target --backend ram --size 16M --num-queues 2 --iothreads 2 --stats stats.json
}

kill_target()
{
	kill -KILL "$target_pid"
	wait "$target_pid" 2>/dev/null || true
}

mkfifo answers
exec {answers}<>answers
new_target
# shellcheck disable=SC2016 # expanded in the guest
start_guest answers '
jobs="--rw=randwrite --verify=crc32c --numjobs=2 --size=4m --offset_increment=4m
	--cpus_allowed=0-1 --cpus_allowed_policy=split"
check "verify on the first target" io /dev/vda $jobs
echo "idle: 1"
read -r answer
check "verify on the second one" io /dev/vda --ioengine=io_uring $jobs
echo "idle: 2"
read -r answer
(sleep 2; echo "waiting for a target") &
check "verify of what was begun when there was none" io /dev/vda $jobs
wait
' --queues 2

guest_says "idle: 1"
kill_target
new_target
echo go >&"$answers"

guest_says "idle: 2"
kill_target
echo go >&"$answers"
guest_says "waiting for a target"
sleep 1
new_target

guest_ends 0
stop_target
counted "the third target had all of the last requests on two threads" \
	"sums('bytes', 'write') == 8 << 20" "all(t['requests']['write'] == 1024 for t in threads)" \
	"sums('errors') == 0"
