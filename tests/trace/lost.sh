#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# More events than there is room for: the oldest are lost, their number is told, and what is left still tells
# of requests from begin to end.
. "$(dirname "$0")/../fio.sh"

start_target --backend null --size 16M --trace target.trace
fio_passes --wait_mode=block --dp_trace=engine --name=a --rw=randread --bs=4k --size=16m --iodepth=16 \
	--io_size=1200m --iodepth_batch_submit=16 --iodepth_batch_complete_min=16
stop_target
/usr/bin/python3 - "$SRC/scripts" engine.a.1.trace target.trace <<'END'
import sys

sys.path.insert(0, sys.argv[1])
from dataplane_lib.trace import records as tf, requests, show

room = 512 << 10
engine, target = tf.load(sys.argv[2]), tf.load(sys.argv[3])
for file, least in ((engine, 2 * 307200), (target, 3 * 307200)):
    thread, = file.threads
    written = thread.lost + len(thread.records)
    assert thread.lost and len(thread.records) == room - 1, (thread.lost, len(thread.records))
    assert least <= written < 2 * least, written
    # The last ones are there, and in order.
    assert (thread.records["time"][1:] >= thread.records["time"][:-1]).all()
found = requests.load(sys.argv[2:])
told = show.digest(found, *show.of_interest(found))
assert told["lost"] == engine.lost + target.lost
assert any(str(told["lost"]) in text for text in show.sentences(told)), show.sentences(told)
# Each side has the requests since its oldest event, and both those since the later one of the two.
assert 100000 < told["both"] <= min(told["engine"], told["target"]), told
assert told["both"] > min(told["engine"], told["target"]) - 100 and not told["different"], told
END
