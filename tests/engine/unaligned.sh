#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Blocks, offsets and alignments that are no multiple of the device's block are
# refused at the start, and the message names the option.
. "$(dirname "$0")/../fio.sh"

fails_naming()
{
	local word=$1
	shift
	fio_fails "$word" --name=job --rw=randwrite --iodepth=4 --size=1m "$@"
	holds fio.json "jobs[0]['error'] == 22"
}
start_target --backend ram --size 16M
fails_naming bs=1000 --bs=1000
fails_naming bs --bsrange=500-4k
fails_naming bs --bssplit=4k/50:700/50
fails_naming bs=5000 --bsrange=4k-5000
fails_naming bs=700 --bs=4k,700 --bs_is_seq_rand=1
fails_naming blockalign=100 --bs=4k --blockalign=100
fails_naming bs_unaligned --bsrange=512-4k --bs_unaligned
fails_naming 'offset 100' --bs=4k --offset=100
stop_target
start_target --backend ram --size 16M --block-size 4096
fails_naming bs=512 --bs=512
fails_naming bs=6144 --bs=6k
fails_naming 'offset 2048' --bs=4k --offset=2k
