#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --cpus pins each iothread to one CPU of the list, and names it in the statistics.
. "$(dirname "$0")/../lib.sh"

allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status)
cpus=()
for part in ${allowed//,/ }; do
	for ((i = ${part%-*}; i <= ${part#*-}; i++)); do cpus+=("$i"); done
done
first=${cpus[0]} last=${cpus[-1]}

allowed_of()
{
	local task
	for task in /proc/"$target_pid"/task/*; do
		[ "$(cat "$task/comm")" != "$1" ] || awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status"
	done
}
# A thread names itself when it first runs.
named()
{
	grep -qx "$1" /proc/"$target_pid"/task/*/comm
}
start_target --backend null --iothreads 3 --cpus "$first,$last" --stats stats.json
for i in 0 1 2; do wait_for 10 named iothread$i; done
[ "$(allowed_of iothread0)" = "$first" ] || fail "iothread0 is on $(allowed_of iothread0)"
second=$last
[ "$(allowed_of iothread1)" = "$second" ] || fail "iothread1 is on $(allowed_of iothread1)"
[ "$(allowed_of iothread2)" = "$first" ] || fail "iothread2 is on $(allowed_of iothread2)"
stop_target
[ "$(grep -c "\"cpus\": \"$first\"" stats.json)" -ge 2 ] || { cat stats.json; fail "not in the statistics"; }

start_target --backend null --iothreads 1
wait_for 10 named iothread0
[ "$(allowed_of iothread0)" = "$allowed" ] || fail "without --cpus it is on $(allowed_of iothread0)"
stop_target
! timeout 10 "$FIO_DATAPLANE/targets/vhost-user-blk-target" --socket s --cpus 1023 2>err || fail "--cpus 1023"
grep -q -e '--cpus: .*1023.*allowed here' err || fail "it says: $(cat err)"
