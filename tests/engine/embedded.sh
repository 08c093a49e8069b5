#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio-poll with the device inside fio: no daemon, and the jobs of a run share
# what they write, processes or threads, together or one after another.
ENGINE=virtio-poll
. "$(dirname "$0")/../fio.sh"

embedded=(--transport=embedded --bs=4k)
for depth in 1 32 256; do
	fio_passes "${embedded[@]}" --target='--backend ram --size 16M' --name=job --rw=randwrite \
		--size=2m --iodepth=$depth --verify=crc32c
	holds fio.json "jobs[0]['read']['total_ios'] == 512"
done
fio_fails verify "${embedded[@]}" --target='--backend null --size 16M' --name=job --rw=randwrite --size=1m \
	--verify=crc32c
for how in '' --thread; do
	# shellcheck disable=SC2086 # none or one word
	fio_passes $how "${embedded[@]}" --target='--backend ram --size 16M --num-queues 4 --poll adaptive' --iodepth=16 \
		--verify=crc32c --name=writer --rw=randwrite --numjobs=4 --size=1m --offset_increment=1m \
		--name=reader --stonewall --rw=read --size=4m \
		--name=trim --stonewall --rw=trim --size=4m --verify=0 \
		--name=zeroes --stonewall --rw=read --size=4m --verify=pattern --verify_pattern=0
	holds fio.json "jobs[4]['read']['total_ios'] == 1024"
done
fio_fails '5 queues are needed, one for each job at the same time' "${embedded[@]}" --target='--num-queues 4' --name=job --rw=read --numjobs=5
fio_fails 'past the end' "${embedded[@]}" --target='--size 16M' --name=job --rw=read --size=17m
fio_fails 'is read-only' "${embedded[@]}" --target='--read-only' --name=job --rw=write --size=1m
fio_fails 'target=: --backend' "${embedded[@]}" --target='--backend disk' --name=job --rw=read --size=1m
for text in 'no such option' 'job: cannot set up the embedded target: target= takes options of vhost-user-blk-target'; do
	fio_fails "$text" "${embedded[@]}" --target='--colour red' --name=job --rw=read --size=1m
done
fio_fails 'stuck_timeout' "${embedded[@]}" --target='--delay fixed:100s' --stuck_timeout=1 --name=job \
	--rw=read --size=1m
holds fio.json "jobs[0]['error'] == 110"

# Its thread counts what the job did. A new ring asks for its first kick, and never again.
fio_passes "${embedded[@]}" --target='--backend ram --size 16M' --name=job --rw=randrw --size=4m --iodepth=8 \
	--dp_stats=stats
holds stats.job.1.json "d['target']['options']['size'] == '16777216'" "d['target']['options']['aio'] == 'inline'" \
	"[t['requests']['read'] + t['requests']['write'] for t in d['target']['iothreads']] == [1024]" \
	"d['notifications']['received'] == 0" "d['notifications']['sent'] <= 1"

sed 's/^runtime=.*/runtime=300ms/; s/^ramp_time.*//' "$SRC/jobfiles/virtio-poll.fio" >job.fio
fio --output-format=json --output=fio.json job.fio
holds fio.json "all(job['read']['total_ios'] > 0 and job['error'] == 0 for job in jobs)"
