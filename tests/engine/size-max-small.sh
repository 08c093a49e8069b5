#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device that takes less in one request than one of its blocks is refused at the start.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --block-size 4096
for bytes in 512 4095; do
	/usr/bin/python3 "$SRC/tests/size_max_proxy.py" "$PWD/proxy$bytes" "$socket" $bytes 2>proxy.err &
	cleanup_fn kill $!
	wait_for 10 test -S "proxy$bytes" || { cat proxy.err >&2; fail "the proxy did not start"; }
	socket=$PWD/proxy$bytes fio_fails 'has blocks of 4096 bytes, but takes no request of as many (size_max)' \
		--name=job --rw=randrw --bs=4k --size=1m --iodepth=4
	did_nothing
done
