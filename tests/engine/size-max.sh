#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A device that takes little in one request: I/O is cut, into more requests than the
# queue has room for. fio must not notice: a write that it had to offer twice would get
# a second verify seed, and rw=randrw is where fio compares it.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 64M --stats stats.json
/usr/bin/python3 "$SRC/tests/size_max_proxy.py" "$PWD/proxy.sock" "$socket" 4096 2>proxy.err &
cleanup_fn kill $!
wait_for 10 test -S proxy.sock || { cat proxy.err >&2; fail "the proxy did not start"; }
socket=$PWD/proxy.sock

blocks=0
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes --name=job --size=16m --verify=crc32c $options
	holds fio.json "jobs[0]['write']['total_ios'] > 0" "jobs[0]['read']['total_ios'] > 0"
	blocks=$((blocks + $(value fio.json \
		"sum(jobs[0][kind]['io_bytes'] for kind in ('read', 'write')) // 4096")))
done <<END
--rw=randrw --bs=1m --iodepth=16
--rw=randrw --bs=64k --iodepth=16 --queue_size=16
--rw=randrw --bsrange=4k-256k --blockalign=4k --iodepth=32 --wait_mode=poll
--rw=randrw --bs=256k --iodepth=8 --indirect=0 --fsync=3
--rw=randwrite --bs=64k --iodepth=1 --queue_size=1
--rw=randrw --bs=128k --iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_max=8
END

socket=
stop_target
holds stats.json "sums('requests', 'read') + sums('requests', 'write') == $blocks" \
	"sums('requests', 'flush') > 0" "sums('errors') == 0"
