#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Clients may come and go, and several be there at once, on the same disk.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 2 --stats stats.json
start_fio --name=first --numjobs=2 --rw=randrw --bs=4k --size=4m --iodepth=16 --time_based --runtime=60
fio_runs
for i in 1 2 3; do
	(
		mkdir $i
		cd $i || exit
		fio_passes --name=other --numjobs=2 --rw=randwrite --bs=4k --offset=$((4 * i))m --size=2m \
			--offset_increment=2m --iodepth=32 --verify=crc32c
	) &
	others[i]=$!
done
for i in 1 2 3; do
	wait "${others[i]}" || fail "client $i"
done
# One that is killed in the middle is no harm to the next.
start=$(find "/proc/$target_pid/fd" | wc -l)
kill_fio "$fio_pid"
fio_passes --name=next --numjobs=2 --rw=randread --bs=4k --size=2m --offset=4m --offset_increment=2m \
	--verify=crc32c --verify_only=1 --rw=randwrite
left()
{
	[ "$(find "/proc/$target_pid/fd" | wc -l)" -lt "$1" ]
}
wait_for 10 left "$start" || fail "$(find "/proc/$target_pid/fd" | wc -l) descriptors, there were $start"
stop_target
holds stats.json "sums('errors') == 0" "sums('requests', 'write') >= 3 * 1024"
