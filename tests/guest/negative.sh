#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# These tests can fail: with a target that forgets what is written, and with a
# guest that comes to no end of its own.
# timeout: 240
. "$(dirname "$0")/guest.sh"

start_target --backend null --size 16M
guest_fails 'verify: bad' '
check "randwrite verify" io /dev/vda --rw=randwrite --verify=crc32c --size=4m
'
grep -q 'NOT ok randwrite verify' console.txt
stop_target
echo "ok a target that discards writes is found out"

# ends STATUS TEXT ARG...: scripts/guest must end with it and say TEXT
ends()
{
	local want=$1 text=$2 status=0
	shift 2
	"$SRC/scripts/guest" "$@" >console.txt 2>&1 </dev/null || status=$?
	cat console.txt
	[ $status = "$want" ] || fail "$*: status $status, should be $want"
	grep -q -- "$text" console.txt || fail "$*: does not say '$text'"
}

ends 125 "without a GUEST-RC line" -- 'echo c >/proc/sysrq-trigger'
echo "ok a guest that crashes is a failure"
ends 124 "not done after 1 s" --timeout 1 -- true
echo "ok a guest that takes too long is a failure"
ends 1 "--queues" --queues none -- true
echo "ok a bad option is refused"
