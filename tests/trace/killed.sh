#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A target that was killed leaves what it has written, and its trace can be read while it runs.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --trace target.trace
start_fio --wait_mode=block --dp_trace=engine --name=a --rw=randread --bs=4k --size=16m --iodepth=4 \
	--time_based --runtime=30
fio_runs
"$SRC/scripts/dataplane" trace engine.a.1.trace target.trace >running.txt
grep -q '^returned to fio ' running.txt || { cat running.txt; fail "nothing is told of programs that still run"; }
kill -KILL "$target_pid"
fio_ends 20
[ "$fio_status" != 0 ] || fail "fio did not notice"
"$SRC/scripts/dataplane" trace target.trace >target.txt
grep -q '^published ' target.txt || { cat target.txt; fail "nothing is told of a target that was killed"; }
"$SRC/scripts/dataplane" trace engine.a.1.trace target.trace --timeline 1 >both.txt
grep -q 'vhost-user-blk-target iothread0 *completed' both.txt || { cat both.txt; fail "no timeline of both"; }
wait "$target_pid" 2>/dev/null || true
target_pid=
