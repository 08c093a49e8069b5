#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What --request-cost burns is on the way to the backend, in any way of doing I/O, and what --wakeup-cost burns in
# being woken: in no stage behind.
. "$(dirname "$0")/../fio.sh"

# longest TRACE...: the stage with the largest median
longest()
{
	"$SRC/scripts/dataplane" trace --csv "$@" | awk -F, 'NR > 1 && $1 != "all" && $2 > 20 { print $4, $1 }' |
		sort -n | tail -1 | cut -d' ' -f2-
}

truncate -s 16M disk
while IFS=' ' read -r stage target; do
	# shellcheck disable=SC2086 # options are words
	start_target --size 16M --poll off --trace target.trace $target
	fio_passes --wait_mode=block --dp_trace=engine --name=job --rw=read --bs=4k --iodepth=1 --number_ios=50 --thinktime=2ms
	found=$(longest engine.*.trace target.trace)
	[ "$found" = "${stage//_/ }" ] || fail "$target: the longest stage is '$found', not '${stage//_/ }'"
	stop_target
	rm engine.*.trace
done <<END
given_to_the_backend --backend ram --aio inline --request-cost 5ms
given_to_the_backend --backend file:$PWD/disk --aio threads --request-cost 5ms
given_to_the_backend --backend ram --aio threads --request-cost 5ms
target_woken --backend ram --wakeup-cost 5ms
END
