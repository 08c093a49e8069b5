#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# reconnect=1 to a target that lives on: the connection is cut in the middle of writing, many
# times, and made again at once. What the target had in flight is answered once.
. "$(dirname "$0")/../fio.sh"

end()
{
	kill "$1" 2>/dev/null || true
}

# cut HOW ARG...: fio through connections that are cut, with what HOW says of all jobs
cut()
{
	local how=$1 proxy
	shift
	rm -f through go
	/usr/bin/python3 "$SRC/tests/cutting_proxy.py" through "$socket" go 0.03 12 &
	proxy=$!
	cleanup_fn end $proxy
	wait_for 10 [ -S through ] || fail "the proxy does not start"
	# shellcheck disable=SC2086 # words
	socket=$PWD/through start_fio $how --reconnect=1 --rw=randwrite --bs=4k --verify=crc32c \
		--iodepth=32 --dp_stats=stats "$@"
	fio_runs
	touch go
	fio_ends 60
	[ "$fio_status" = 0 ] || { said; cat target.err; fail "$how $*: status $fio_status"; }
	end $proxy
	holds stats.block.1.json "d['reconnects'] >= 3"
}

truncate -s 128M disk
# Requests are in workers' hands when the connection ends, or wait for their time to be over.
for target in '--delay none' '--delay exp:4ms'; do
	# shellcheck disable=SC2086 # words
	start_target --backend "file:$PWD/disk" --num-queues 4 --iothreads 2 $target
	size=$([ "$target" = '--delay none' ] && echo 64 || echo 16)
	for packed in 0 1; do
		cut "--packed=$packed --size=${size}m" --name=block --wait_mode=block \
			--name=poll --offset=64m --wait_mode=adaptive
		holds fio.json "[job['error'] for job in jobs] == [0] * 2" \
			"[job['write']['total_ios'] for job in jobs] == [$size * 256] * 2" \
			"[job['read']['total_ios'] for job in jobs] == [$size * 256] * 2"
	done
	stop_target || fail "status $?"
	! grep dropped target.err || fail "the target complains"
done
