#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio has a job that only trims read without buffers to verify it: EFAULT for that read, and
# the target goes on. All engines, and the embedded target.
. "$(dirname "$0")/../fio.sh"

no_buffer()
{
	fio_fails 'a read or a write without a buffer' --name=job --rw=trim --bs=4k --size=4k --verify=md5 \
		--experimental_verify=1 "$@"
	holds fio.json "jobs[0]['error'] == 14" "jobs[0]['trim']['total_ios'] == 1"
	fio_passes --name=job --rw=randwrite --bs=4k --size=1m --verify=crc32c "$@"
}
each_engine no_buffer --backend ram --size 4M
ENGINE=virtio-poll
engine=external:$FIO_DATAPLANE/engines/virtio-poll.so
no_buffer --transport=embedded --target='--backend ram --size 4M'
