#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fio's ways to verify: methods, intervals, backlog, helper threads, patterns.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes --name=job --rw=randwrite --bs=8k --size=1m --iodepth=16 $options
	holds fio.json "jobs[0]['write']['total_ios'] == 128" "jobs[0]['read']['total_ios'] >= 128"
done <<END
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
