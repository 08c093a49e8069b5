#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A client whose descriptors the target has no room for is dropped with that reason, and fio is not told to change
# its queues; a client that needs fewer is served.
. "$(dirname "$0")/../fio.sh"

requires prlimit --version
start_target --backend ram --size 16M --num-queues 4
# The target has raised its limit itself, so it is lowered now: to what it has open, a connection, the memory, and one queue's.
prlimit --pid "$target_pid" --nofile=$(($(find "/proc/$target_pid/fd" -type l | wc -l) + 4))

fio_fails "Connection reset by peer" --name=job --numjobs=4 --rw=read --bs=4k --number_ios=10 --size=1m
! grep -q "queue_size=" <<<"$(said)" || { said; fail "fio is sent to its queues"; }
told()
{
	grep -q "client 0 dropped: cannot receive a descriptor: Too many open files (see ulimit -n)" target.err
}
wait_for 10 told || fail "the target says: $(cat target.err)"
fio_passes --name=job --rw=read --bs=4k --number_ios=10 --size=1m
stop_target || fail "status $?"
