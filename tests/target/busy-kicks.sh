#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A target that never sleeps asks for no kicks, in either format and with and without event index.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M --poll busy
while read -r options; do
	# shellcheck disable=SC2086 # options are words
	fio_passes --wait_mode=poll --name=job --rw=randread --bs=4k --iodepth=4 --number_ios=2000 \
		--dp_stats=stats $options
	# What was queued before the target looked at the new ring may be kicked.
	holds stats.job.1.json "d['notifications']['sent'] < 100" \
		"d['notifications']['suppressed'] + d['notifications']['sent'] > 0"
	rm stats.job.1.json
done <<END
--packed=0 --event_idx=0
--packed=0 --event_idx=1
--packed=1 --event_idx=0
--packed=1 --event_idx=1
END
