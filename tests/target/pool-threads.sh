#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pool has no thread before there is work, grows with it up to --pool-threads, each
# iothread its own; one with --pool-min has that many from the start.
. "$(dirname "$0")/../fio.sh"

# names: of the target's threads that are workers
names()
{
	cat "/proc/$target_pid/task/"*/comm | grep '^worker' | sort
}

start_target --backend null --num-queues 2 --iothreads 2 --aio threads --pool-threads 3
[ -z "$(names)" ] || fail "workers before any work: $(names)"
fio_passes --name=one --rw=randread --bs=4k --iodepth=1 --number_ios=100 --size=64m
[[ $(names) == worker0.0* ]] || fail "at depth 1: $(names)"
fio_passes --rw=randread --bs=4k --iodepth=32 --number_ios=10000 --size=64m --numjobs=2 --name=many
target_stats now.json
holds now.json "2 < len(d['workers']) <= 6" \
	"all(w['name'][:8] in ('worker0.', 'worker1.') for w in d['workers'])" \
	"all(w['starts'] == 1 for w in d['workers'])" \
	"sum(w['requests'] for w in d['workers']) == 20100"
stop_target

start_target --backend null --aio threads --pool-threads 3 --pool-min 3
[ "$(names)" = $'worker0.0\nworker0.1\nworker0.2' ] || fail "fixed: $(names)"
stop_target
