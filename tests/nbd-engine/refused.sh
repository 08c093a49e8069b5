#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What cannot work is refused before the first request, with a sentence.
. "$(dirname "$0")/servers.sh"

ordinary='--name=job --rw=randread --bs=4k --size=1m'
serve_badly act=answer
while IFS='|' read -r text options; do
	# shellcheck disable=SC2086 # options are words
	fio_fails "$text" $ordinary $options
	did_nothing
done <<END
can't be used with offloaded submit|--io_submit_mode=offload
stuck_timeout|--stuck_timeout=0
connections|--connections=0
connections|--connections=65
wait_mode|--wait_mode=sometimes
datapath|--datapath=magic
trim_as|--trim_as=confetti
failed parsing uri=|--uri=
cannot connect to http://localhost/: |--uri=http://localhost/
END
uri=
# shellcheck disable=SC2086
fio_fails 'missing uri=, such as nbd://' $ordinary
