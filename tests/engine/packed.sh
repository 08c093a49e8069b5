#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packed rings: data at any depth and in any way of waiting, with every feature on and off,
# in rings of any size, by several jobs, over vhost-user and embedded.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 32M --num-queues 4
for depth in 1 32 256; do
	fio_passes_each 4 --packed=1 --rw=randwrite --bs=4k --iodepth=$depth --verify=crc32c <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
END
	holds fio.json "[job['read']['total_ios'] for job in jobs] == [1024] * 3"
done
for event_idx in 0 1; do
	for indirect in 0 1; do
		fio_passes_each 4 --packed=1 --event_idx=$event_idx --indirect=$indirect --rw=randwrite \
			--bs=4k --iodepth=32 --io_size=2m --verify=crc32c <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
END
		holds fio.json "[job['read']['total_ios'] for job in jobs] == [512] * 3"
	done
done

# A ring that fits the depth exactly is full all the time; its size is no power of two.
fio_passes --packed=1 --queue_size=5 --name=job --rw=randwrite --bs=4k --size=2m --iodepth=5 --verify=crc32c
fio_passes --packed=1 --queue_size=100 --indirect=0 --name=job --rw=randwrite --bs=4k --size=2m \
	--iodepth=33 --verify=crc32c --dp_stats=stats
holds stats.job.1.json "d['ring'] == 'packed'" "d['queue_size'] == 100"

# The second wave of jobs goes on where the first one left the rings.
for how in '' --thread; do
	# shellcheck disable=SC2086 # none or one word
	fio_passes $how --packed=1 --numjobs=4 --rw=randwrite --bsrange=512-64k --size=2m --iodepth=16 \
		--offset_increment=2m --verify=crc32c --fsync=32 --name=first --name=second --stonewall
	holds fio.json "len(jobs) == 8 and all(job['error'] == 0 for job in jobs)"
done
fio_passes --packed=1 --name=job --rw=randtrim --bs=64k --size=8m --iodepth=8
holds fio.json "jobs[0]['trim']['total_ios'] == 128"
stop_target

words=(--ioengine="external:$FIO_DATAPLANE/engines/virtio-poll.so" --packed=1 --target="--backend ram --size 8M")
for queue_size in 0 33; do
	timeout 60 fio --output-format=json --output=fio.json "${words[@]}" --queue_size=$queue_size --name=first \
		--rw=randwrite --bs=4k --size=4m --iodepth=32 --verify=crc32c --do_verify=0 \
		--name=second --stonewall --rw=randread --bs=4k --size=4m --iodepth=7 --verify=crc32c >fio.err 2>&1 ||
		{ said; fail "embedded, queue_size=$queue_size"; }
	holds fio.json "[job['read']['total_ios'] for job in jobs] == [0, 1024]"
done
