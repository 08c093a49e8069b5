#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The bare socket pair tells a time, and what it was asked wrongly.
. "$(dirname "$0")/../lib.sh"

requires_built tools/socket-pingpong
tool=$FIO_DATAPLANE/tools/socket-pingpong
status=0
"$tool" --cpus 0,1 --ms 50 >out 2>err || status=$?
[ $status = 77 ] && skip "$(cat err)"
[ $status = 0 ] || fail "status $status: $(cat err)"
grep -Eq '^CPUs 0 and 1: [1-9][0-9]* ns a round trip' out || fail "it says: $(cat out)"
"$tool" --cpus 0,1 --ms 50 --sleep --json >out || fail "--sleep: $?"
grep -Eq '^\{"trip_ns": [1-9][0-9]*, "fastest_ns": [1-9][0-9]*\}$' out || fail "--json: $(cat out)"
for bad in '--cpus 0,0' '--cpus 0,1 --reply 0' '--cpus 0,1 --ms 0' '' '--frob'; do
	# shellcheck disable=SC2086 # options are words
	! "$tool" $bad >/dev/null 2>err || fail "takes $bad"
	[ "$(wc -l <err)" = 1 ] || fail "says of $bad: $(cat err)"
done
