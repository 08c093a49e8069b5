#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A write that the file refuses is an I/O error to who wrote, in each way to it, and the
# target lives on. Here a file may not be written behind its first 4 MiB.
. "$(dirname "$0")/../fio.sh"

truncate -s 8M disk
ulimit -f 4096
for aio in inline threads "native --direct" io_uring; do
	# shellcheck disable=SC2086 # words
	start_target --backend "file:$PWD/disk" --aio $aio --stats stats.json
	fio_fails 'Input/output error' --name=job --rw=write --bs=64k --iodepth=4 --size=8m
	fio_passes --bs=64k --iodepth=4 --name=before --rw=write --size=4m --name=all --stonewall --rw=read --size=8m
	stop_target || fail "$aio: status $?"
	holds stats.json "1 <= sums('errors') <= 4" "sums('requests', 'read') == 128"
done
