#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whatever way its workers are woken, queued for and heard from, a thread pool carries
# out what fio asks for, and its statistics count it all.
. "$(dirname "$0")/../fio.sh"

while read -r wakeup queue completion poll; do
	start_target --backend ram --size 16M --num-queues 2 --aio threads --pool-threads 3 \
		--wakeup "$wakeup" --pool-queue "$queue" --completion "$completion" --poll "$poll" \
		--stats stats.json
	fio_passes --bs=4k --rw=randwrite --verify=crc32c --wait_mode=block --name=deep --size=2m \
		--iodepth=32 --name=single --offset=8m --size=256k --iodepth=1 ||
		fail "--wakeup $wakeup --pool-queue $queue --completion $completion --poll $poll"
	stop_target
	holds stats.json "0 < len(d['workers']) <= 3" \
		"all(w['name'].startswith('worker0.') for w in d['workers'])" \
		"sum(w['requests'] for w in d['workers']) == 2 * (512 + 64)" \
		"sum(sum(t['requests'].values()) for t in threads) == 2 * (512 + 64)" \
		"all(w['wakeups'] <= w['sleeps'] for w in d['workers'])" \
		"sum(sum(w['cpu'].values()) for w in d['workers']) > 0" \
		"d['options']['wakeup'] == '$wakeup'"
done <<END
sem global eventfd-locked off
cond-counter per-thread eventfd adaptive
cond-locked global coalesced fixed
cond-unlocked per-thread poll off
futex global eventfd busy
per-thread global poll adaptive
eventfd per-thread coalesced off
spin per-thread eventfd-locked off
spin-park global poll off
END
