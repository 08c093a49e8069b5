#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A trace that cannot be written is one line that says which and why, before anything is served; what is no
# file is left alone.
. "$(dirname "$0")/../fio.sh"

requires_built targets/vhost-user-blk-target targets/nbd-target engines/virtio-poll.so
# says TEXT COMMAND...: it exits with 1 and one line that has TEXT
says()
{
	local text=$1 status=0
	shift
	timeout 10 "$@" >out 2>&1 || status=$?
	[ $status = 1 ] || { cat out; fail "$*: status $status"; }
	[ "$(wc -l <out)" = 1 ] || { cat out; fail "$*: is not one line"; }
	grep -qF -- "$text" out || { cat out; fail "$*: does not say '$text'"; }
}

for target in vhost-user-blk-target nbd-target; do
	program=$FIO_DATAPLANE/targets/$target
	says '--trace: cannot write no/such/file: No such file or directory' "$program" --socket s --trace no/such/file
	says '--trace: cannot write /dev/null: it is no file' "$program" --socket s --trace /dev/null
	says '--trace: cannot write .: it is no file' "$program" --socket s --trace .
done
[ -c /dev/null ] || fail "/dev/null is gone"

status=0
fio --ioengine="external:$FIO_DATAPLANE/engines/virtio-poll.so" --target='--trace file' --name=a --rw=read --bs=4k --size=1m >out 2>&1 || status=$?
[ $status != 0 ] || fail "an embedded target took --trace"
grep -q -- '--trace: has no meaning for a target inside fio' out || { cat out; fail "not a word about --trace inside fio"; }

# One that is there is replaced, not written over: somebody may be looking at it.
echo 'something else' >old.trace
ln old.trace linked
start_target --backend null --size 16M --trace old.trace
stop_target
[ "$(cat linked)" = 'something else' ] || fail "the old file was written over"
"$SRC/scripts/dataplane" trace old.trace >out 2>&1 && fail "a trace without requests tells something"
grep -q 'no request in the trace' out || { cat out; fail "it is not said that nothing was asked for"; }
