#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workers that wait for work take no CPU, unless they are to spin.
. "$(dirname "$0")/../fio.sh"

for wakeup in sem cond-counter cond-locked cond-unlocked futex per-thread eventfd spin-park; do
	start_target --backend null --aio threads --pool-threads 4 --pool-min 4 --wakeup $wakeup
	idles 20 || fail "--wakeup $wakeup takes CPU"
	stop_target
done

start_target --backend null --aio threads --pool-threads 1 --pool-min 1 --wakeup spin
! idles 20 || fail "--wakeup spin does not spin"
