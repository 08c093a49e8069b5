#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every poll policy serves sockets: at depth 1 and more, over one connection and over several,
# and a client that comes late or takes its time loses nothing.
. "$(dirname "$0")/target.sh"

for poll in off busy fixed fixed-1024 adaptive per-source weighted rate inflight hybrid; do
	start --backend ram --size 16M --iothreads 2 --poll $poll --stats stats.json
	stock_passes --rw=randwrite --verify=crc32c --bs=4k --size=1m \
		--name=shallow --iodepth=1 --name=deep --iodepth=32 --offset=1m \
		--name=large --iodepth=4 --offset=2m --size=4m --bs=256k \
		--name=slow --iodepth=8 --offset=8m --size=256k --thinktime=1ms --thinktime_blocks=8
	holds fio.json "len(jobs) == 4" "all(job['error'] == 0 for job in jobs)"
	# More than the socket holds, so that replies have to wait for room
	/usr/bin/python3 - "$SRC" "$socket" <<'END' || fail "$poll: a client that takes its time"
import os, sys, time
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
c = nbd.connect(sys.argv[2])
for _ in range(3):
	c.send(b"".join(nbd.request(nbd.READ, i << 16, 65536, cookie=i) for i in range(100)))
	c.lengths = {i: 65536 for i in range(100)}
	time.sleep(0.1)
	assert {c.reply().cookie for _ in range(100)} == set(range(100))
END
	target_said_nothing
	stop_target || fail "$poll: status $?"
	holds stats.json "sums('errors') == 0" "sums('requests', 'read') >= 300"
done
