#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whatever the ring, the jobs and the requests are like: each request is found in the traces of both sides, once.
. "$(dirname "$0")/../fio.sh"

# all_found TRACE...: and no other request in them
all_found()
{
	/usr/bin/python3 - "$SRC/scripts" "$case" "$@" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
from dataplane_lib.trace import requests, show

found = requests.load(sys.argv[3:])
told = show.digest(found, *show.of_interest(found))
assert told["both"] == told["engine"] == told["target"] > 100, (sys.argv[2], told)
assert not told["different"] and not told["wrong"] and not told["lost"], (sys.argv[2], told)
print(sys.argv[2], told["both"])
END
}

while IFS=: read -r case target options; do
	# shellcheck disable=SC2086 # options are words
	start_target --backend ram --size 16M --trace target.trace $target
	# shellcheck disable=SC2086
	fio_passes --wait_mode=block --dp_trace=engine --bs=4k --size=2m --iodepth=8 $options
	all_found engine.*.trace target.trace
	stop_target
	rm engine.*.trace
done <<'END'
packed::--packed=1 --name=a --rw=randrw
without indirect tables::--indirect=0 --name=a --rw=randrw
jobs on two iothreads:--iothreads 2:--name=a --rw=randrw --numjobs=3
jobs that are threads:--aio threads:--thread --name=a --rw=randrw --numjobs=2 --name=b --rw=randread
discards::--name=a --rw=randtrim
flushes::--name=a --rw=randwrite --fsync=4
merged::--name=a --rw=read --size=16m --bs=4k --iodepth=16 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 --merge=64k
END
case=embedded
requires_built engines/virtio-poll.so
fio --output=out --ioengine="external:$FIO_DATAPLANE/engines/virtio-poll.so" --target='--backend ram --size 16M' --dp_trace=engine \
	--name=a --rw=randrw --bs=4k --size=2m --iodepth=8 --numjobs=2
all_found engine.*.trace
