#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An embedded target that finds its ring broken stops, and its job ends at once with the reason:
# it does not wait for stuck_timeout.
ENGINE=virtio-poll
. "$(dirname "$0")/../fio.sh"

cat >spoil.py <<'END'
# Let the available index of the first ring of a job jump by more than the ring has entries.
import os, struct, sys, time
pid, ended = int(sys.argv[1]), time.monotonic() + 20
ring = None
while not ring and time.monotonic() < ended:
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        try:
            if "/memfd:" in os.readlink(path) and os.stat(path).st_size:
                ring = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            pass
entries = int(sys.argv[2])
avail = entries * 16
def index():
    return struct.unpack("<H", os.pread(ring, 2, avail + 2))[0]
first = index()
while index() == first and time.monotonic() < ended:
    time.sleep(0.01)
while os.path.exists(f"/proc/{pid}/task") and time.monotonic() < ended:
    os.pwrite(ring, struct.pack("<H", (index() + 20000) & 0xffff), avail + 2)
    time.sleep(0.01)
END
for options in --thread=0 --thread=1; do
	start_fio --transport=embedded --target='--backend ram --size 8M' --stuck_timeout=600 --queue_size=128 \
		--name=job --rw=randread --bs=4k --iodepth=4 --time_based --runtime=600 $options
	/usr/bin/python3 spoil.py "$fio_pid" 128 &
	spoiler=$!
	cleanup_fn kill $spoiler
	fio_ends 60
	kill $spoiler 2>/dev/null || true
	wait $spoiler 2>/dev/null || true
	[ "$fio_status" != 0 ] || fail "success with a broken ring"
	holds fio.json "jobs[0]['error'] != 0" "jobs[0]['error'] != 110"
	grep -q 'the embedded target stops' <<<"$(said)" || { said; fail "not a word of why"; }
done
