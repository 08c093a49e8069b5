#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One request that is never answered ends the job after stuck_timeout, although others are, slowly
# and one after another.
. "$(dirname "$0")/../fio.sh"

/usr/bin/python3 "$SRC/tests/engine/forgetful_device.py" "$PWD/forgetful" 0.2 2>device.err &
cleanup_fn kill $!
wait_for 10 test -S forgetful || { cat device.err >&2; fail "the device does not start"; }
socket=$PWD/forgetful
for mode in block adaptive hybrid poll; do
	FIO_TIMEOUT=40 fio_fails 'for 3 s (stuck_timeout)' --stuck_timeout=3 --wait_mode=$mode --name=job --rw=randread --bs=4k \
		--iodepth=3 --time_based --runtime=300
	holds fio.json "jobs[0]['error'] == 110" "jobs[0]['read']['total_ios'] > 5"
done
