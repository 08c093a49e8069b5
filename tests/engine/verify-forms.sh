#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's ways to verify: methods, intervals, backlog, helper threads, patterns.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M --num-queues 16
fio_passes_each 1 --rw=randwrite --bs=8k --iodepth=16 <<END
--verify=md5
--verify=sha256 --verify_fatal=1
--verify=crc32c --verify_interval=512
--verify=crc32c --verify_offset=64
--verify=crc32c --verify_backlog=16
--verify=crc32c --verify_backlog=16 --verify_backlog_batch=4
--verify=crc32c --verify_async=2
--verify=crc32c --verifysort=0
--verify=crc32c --experimental_verify=1
--verify=pattern --verify_pattern=0xdeadbeef
--verify=pattern --verify_pattern=%o --verify_interval=512
--verify=crc32c --refill_buffers=1
--verify=crc32c --buffer_compress_percentage=50
END
holds fio.json "[job['write']['total_ios'] for job in jobs] == [128] * 13" \
	"all(job['read']['total_ios'] >= 128 for job in jobs)"
