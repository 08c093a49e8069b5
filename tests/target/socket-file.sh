#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The socket is the owner's alone; one that a killed target left is replaced, one
# that is served, or no socket, is not.
. "$(dirname "$0")/../lib.sh"

umask 000
start_target --backend null
[ "$(stat -c %a "$socket")" = 600 ] || fail "mode $(stat -c %a "$socket")"

target=$FIO_DATAPLANE/targets/vhost-user-blk-target
! timeout 10 "$target" --socket "$socket" 2>err || fail "took over a socket that is served"
grep -q -e "--socket: $socket: another process is listening on it" err || fail "it says: $(cat err)"
kill -0 "$target_pid" || fail "the first target is gone"

kill -KILL "$target_pid"
wait "$target_pid" 2>/dev/null || true
[ -S "$socket" ] || fail "a killed target cannot have removed its socket"
mv "$socket" left
ln left "$socket"
start_target --backend null
! [ "$socket" -ef left ] || fail "the old socket is still there"
stop_target || fail "status $?"
[ ! -e "$socket" ] || fail "the socket is still there"

# Somebody else's socket in the place of ours stays, with whoever listens there.
start_target --backend null
first=$target_pid
rm "$socket"
start_target --backend null
stop "$first" || fail "status $?"
[ -S "$socket" ] || fail "the first target removed the second one's socket"
stop_target || fail "status $?"
[ ! -e "$socket" ] || fail "the socket is still there"

echo precious >"$socket"
! timeout 10 "$target" --socket "$socket" 2>err || fail "took a file's place"
grep -q -e "--socket: $socket exists and is not a socket" err || fail "it says: $(cat err)"
[ "$(cat "$socket")" = precious ] || fail "the file is lost"
! timeout 10 "$target" --socket no/such/directory/socket 2>err || fail "a socket in no directory"
grep -q -e "^vhost-user-blk-target: --socket: .*no/such/directory/socket: No such file" err || fail "it says: $(cat err)"
