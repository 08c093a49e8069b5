#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job that does not fit the device is refused before it starts, with a
# sentence; it is not cut short in silence, and does not fail half way.
. "$(dirname "$0")/../fio.sh"

start_target --backend ram --size 16M
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_fails '' --name=job --rw=randwrite --bs=4k --iodepth=4 $options
	[ -n "$(said)" ] || fail "not a word about $options"
	did_nothing
done <<END
--size=17m
--offset=1m --size=16m
--offset=16m
--offset=16m --size=4k
--offset=32m
--offset=32m --size=4k
--offset=16773120 --size=8k
END
# Of several, the one that does not fit.
fio_fails 'past the end' --name=job --rw=randwrite --bs=4k --numjobs=4 --size=5m --offset_increment=5m
