#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workers that wait for work take no CPU, unless they are to spin.
. "$(dirname "$0")/../fio.sh"

ticks=$(getconf CLK_TCK)
# CPU time of the target in ticks
cpu()
{
	local -a stat
	read -ra stat <"/proc/$target_pid/stat"
	echo $((stat[13] + stat[14]))
}

for wakeup in sem cond-counter cond-locked cond-unlocked futex per-thread eventfd spin-park; do
	start_target --backend null --aio threads --pool-threads 4 --pool-min 4 --wakeup $wakeup
	before=$(cpu)
	sleep 0.5
	took=$(($(cpu) - before))
	((took * 100 <= ticks * 2)) || fail "--wakeup $wakeup: $took ticks of 1/$ticks s in 0.5 s"
	stop_target
done

start_target --backend null --aio threads --pool-threads 1 --pool-min 1 --wakeup spin
before=$(cpu)
sleep 0.5
took=$(($(cpu) - before))
((took * 100 > ticks * 2)) || fail "--wakeup spin: $took ticks of 1/$ticks s in 0.5 s"
