#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job with direct=1 that does not fit its device is told so, and not that there is no O_DIRECT.
# Where fio has a last word of its own, it is the engine's reason. All engines.
. "$(dirname "$0")/../fio.sh"

refused()
{
	local text options
	while IFS='|' read -r text options; do
		# shellcheck disable=SC2086 # options are words
		fio_fails "$text" --name=job --rw=randwrite --direct=1 $options
		! grep O_DIRECT <<<"$(said)" || fail "$ENGINE: blames O_DIRECT: $options"
		holds fio.json "jobs[0]['error'] == 22"
	done <<-END
		offset 0 and size 8388608 go past the end of the device, 4194304 bytes|--bs=4k --size=8m
		bs=1000 is no multiple|--bs=1000 --size=1m
		offset 100 is no multiple|--bs=4k --size=1m --offset=100
	END
}
last_word()
{
	fio_fails '' --name=job --rw=randwrite --bs=4k --nrfiles=2 --size=1m
	tail -n 1 <(said) | grep -q '^fio: pid=0, err=22/2 files ' || { said; fail "$ENGINE: fio has another last word"; }
}
each_engine refused --backend ram --size 4M
each_engine last_word --backend ram --size 4M
