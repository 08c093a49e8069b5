#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The socket's file has mode 0600; one that is left over is replaced, any other is not.
. "$(dirname "$0")/target.sh"

umask 0
start --backend null
[ "$(stat -c %a "$socket")" = 600 ] || fail "mode $(stat -c %a "$socket")"

refused()
{
	local status=0
	timeout 10 "$target" --socket "$1" 2>err || status=$?
	[ $status = 1 ] || fail "status $status"
	[ "$(cat err)" = "nbd-target: --socket: $2" ] || { cat err; fail "what it says"; }
}
refused "$socket" "$socket: another process is listening on it"
nbdinfo --size "$uri" >/dev/null || fail "the first target is disturbed"

kill -KILL "$target_pid"
wait "$target_pid" 2>/dev/null || true
[ -S "$socket" ] || fail "nothing is left over to try this with"
start --backend null
nbdinfo --size "$uri" >/dev/null
stop_target || fail "status $?"
[ ! -e "$socket" ] || fail "the socket is still there"
echo precious >file
refused "$PWD/file" "$PWD/file exists and is not a socket"
[ "$(cat file)" = precious ]
