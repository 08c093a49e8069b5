#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What cannot work is refused before the first request, with a sentence.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M --num-queues 2
ordinary='--name=job --rw=randread --bs=4k --size=1m'
while IFS='|' read -r text options; do
	# shellcheck disable=SC2086 # options are words
	fio_fails "$text" $ordinary $options
	did_nothing
done <<END
can't be used with offloaded submit|--io_submit_mode=offload
mem= cannot be used|--mem=mmap
mem= cannot be used|--mem=malloc --create_serialize=0
stuck_timeout|--stuck_timeout=0
queue_size=100 is no power of two|--queue_size=100
END
if [ "$ENGINE" = vhost-user-blk ]; then
	# shellcheck disable=SC2086
	fio_fails wait_mode $ordinary --wait_mode=sometimes
fi
path=$socket
socket=
# shellcheck disable=SC2086
fio_fails 'missing socket=' $ordinary
# shellcheck disable=SC2086
fio_fails 'socket=' $ordinary --socket=
# shellcheck disable=SC2086
fio_fails 'name too long' $ordinary --socket="/$(printf '%0200d' 0)"
# shellcheck disable=SC2086
fio_passes $ordinary --socket="$path"
