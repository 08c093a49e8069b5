#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The statistics agree with what fio did, by kind and in bytes; SIGUSR1 prints
# them at any time, --stats at the end.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 3 --iothreads 2 --stats stats.json --poll adaptive
start_fio --bs=4k --name=a --rw=randrw --iodepth=16 --time_based --runtime=2 --wait_mode=block --fsync=8
fio_runs
target_stats now.json
holds now.json "d['program'] == 'vhost-user-blk-target'" "len(threads) == 2" \
	"sums('requests', 'read') > 0" "d['options']['backend'] == 'ram'"
fio_ends 30
target_stats after.json
stop_target
{
	sed '/^}/,$d' fio.json
	echo ', "target":'
	cat stats.json
	echo '}'
} >both.json
holds both.json "jobs[0]['read']['total_ios'] > 0" \
	"sum(t['requests']['read'] for t in d['target']['iothreads']) == jobs[0]['read']['total_ios']" \
	"sum(t['requests']['write'] for t in d['target']['iothreads']) == jobs[0]['write']['total_ios']" \
	"sum(t['requests']['flush'] for t in d['target']['iothreads']) == jobs[0]['sync']['total_ios']" \
	"sum(t['bytes']['read'] for t in d['target']['iothreads']) == jobs[0]['read']['io_bytes']" \
	"sum(t['bytes']['write'] for t in d['target']['iothreads']) == jobs[0]['write']['io_bytes']"
holds stats.json "sums('requests', 'unsupported') == 0" "sums('errors') == 0" \
	"d['uptime_ns'] > 10**9" "d['options']['poll'] == 'adaptive'" \
	"[t['name'] for t in threads] == ['iothread0', 'iothread1']" \
	"sums('wakeups') <= sums('waits')" "sums('sleeps') <= min(sums('waits'), sums('switches', 'voluntary'))" "sums('cpu', 'user_ns') + sums('cpu', 'system_ns') > 0" \
	"sums('switches', 'voluntary') > 0" "all(t['window_ns']['max'] <= 32768 for t in threads)" \
	"all(t['window_ns']['min'] <= t['window_ns']['now'] <= t['window_ns']['max'] for t in threads)" \
	"sums('notifications', 'sent') > 0" "sums('notifications', 'received') > 0"
# A batch is as many requests as it says, give or take its place in the histogram.
holds stats.json "sum(total(t['batch']) for t in threads) <= sum(sum(t['requests'].values()) for t in threads)" \
	"sum(low * n for t in threads for low, n in t['batch']) <= sum(sum(t['requests'].values()) for t in threads)"
holds after.json "sums('requests', 'read') == $(value stats.json "sums('requests', 'read')")"
