#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Our engine on qemu-storage-daemon: data, flushes and trims reach its file.
. "$(dirname "$0")/../fio.sh"

requires qemu-storage-daemon --version
socket=$PWD/qemu.sock
start_qemu()
{
	rm -f "$socket"
	truncate -s 64M disk
	qemu-storage-daemon --blockdev driver=file,node-name=file,filename=disk,discard=unmap \
		--blockdev driver=raw,node-name=disk,file=file,discard=unmap \
		--export "type=vhost-user-blk,id=x,node-name=disk,writable=on,addr.type=unix,addr.path=$socket$1" \
		>qemu.log 2>&1 &
	qemu=$!
	cleanup_fn stop $qemu
	wait_for 10 test -S "$socket" || { cat qemu.log; fail "no qemu-storage-daemon"; }
}

start_qemu ,num-queues=4
for depth in 1 32 256; do
	fio_passes_each 2 --rw=randwrite --bs=4k --iodepth=$depth --verify=crc32c <<END
--wait_mode=block
--wait_mode=poll
--wait_mode=adaptive
END
done
for how in '' --thread; do
	fio_passes $how --name=job --numjobs=4 --rw=randwrite --bsrange=512-128k --size=2m --iodepth=16 \
		--offset_increment=2m --verify=crc32c --fsync=32
done
fio_passes --event_idx=0 --indirect=0 --name=job --rw=randwrite --bs=4k --size=1m --iodepth=32 --verify=crc32c

fio_passes --merge=256k --name=job --rw=write --bs=4k --size=1m --iodepth=64 --iodepth_batch=64 --verify=crc32c \
	--iodepth_batch_complete_min=64 --dp_stats=stats
holds stats.job.1.json "d['merged'] > 200"

# What is in the file is what was written.
fio_passes --name=job --rw=write --bs=64k --size=4m --offset=8m --iodepth=8 --end_fsync=1 --verify=pattern \
	--verify_pattern=0x5a --do_verify=0
head -c 4M /dev/zero | tr '\0' '\132' >wanted
dd if=disk of=seen bs=1M skip=8 count=4 status=none
cmp wanted seen
fio_passes --name=job --rw=trim --bs=1m --size=4m --offset=8m --iodepth=4
dd if=disk of=seen bs=1M skip=8 count=4 status=none
cmp -n 4194304 /dev/zero seen
fio_fails '5 queues are needed' --name=job --numjobs=5 --rw=randread --bs=4k --size=1m
fio_fails 'past the end' --name=job --rw=randread --bs=4k --size=65m
stop $qemu || true

start_qemu ,logical-block-size=4096
fio_passes --name=job --rw=randwrite --bsrange=4k-64k --size=4m --iodepth=32 --verify=crc32c
fio_fails bs=512 --name=job --rw=randwrite --bs=512 --size=4m
stop $qemu || true

# It says that it has more queues than its protocol has numbers for.
start_qemu ,num-queues=300
fio_passes --num_queues=256 --name=job --rw=randread --bs=4k --size=1m
fio_fails "257 (256 max)" --num_queues=257 --name=job --rw=randread --bs=4k --size=1m
