#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device that keeps calling and completes nothing gets no more time for it than a silent one:
# stuck_timeout ends the job.
. "$(dirname "$0")/../fio.sh"

cat >call.py <<'END'
# Write to every eventfd of a process, kicks and calls alike, twice in a second.
import ctypes, os, sys, time
pid = int(sys.argv[1])
handle = os.pidfd_open(pid)
fds = []
for name in os.listdir(f"/proc/{pid}/fd"):
    if os.readlink(f"/proc/{pid}/fd/{name}") == "anon_inode:[eventfd]":
        fds.append(ctypes.CDLL(None).syscall(438, handle, int(name), 0))
if not fds or min(fds) < 0:
    sys.exit(77)
while True:
    for fd in fds:
        os.write(fd, (1).to_bytes(8, sys.byteorder))
    time.sleep(0.5)
END
end()
{
	kill -CONT "$target_pid" 2>/dev/null
	kill "$1" 2>/dev/null
}
for mode in block adaptive; do
	start_target --backend ram --size 8M
	start_fio --stuck_timeout=2 --wait_mode=$mode --name=job --rw=randread --bs=4k --iodepth=4 --time_based \
		--runtime=300
	fio_runs
	kill -STOP "$target_pid"
	/usr/bin/python3 call.py "$fio_pid" &
	caller=$!
	cleanup_fn end $caller
	fio_ends 40
	end $caller
	caller_status=0
	wait $caller || caller_status=$?
	[ $caller_status != 77 ] || skip "the eventfds of another process are not to be had"
	[ "$fio_status" != 0 ] || fail "$mode: success without answers"
	holds fio.json "jobs[0]['error'] == 110"
	grep -q 'for 2 s (stuck_timeout)' <<<"$(said)" || { said; fail "$mode: not a word of why"; }
	stop_target
done
