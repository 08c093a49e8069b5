#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The statistics agree with what a client did, by kind and in bytes, and tell of batches.
. "$(dirname "$0")/target.sh"

start --backend ram --size 64M --iothreads 2 --stats stats.json
/usr/bin/python3 - "$SRC" "$socket" <<'END'
import os, sys
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
c = nbd.connect(sys.argv[2], context=True)
for kind, count, length in ((nbd.READ, 1, 512), (nbd.WRITE, 2, 1024), (nbd.TRIM, 3, 4096),
			    (nbd.CACHE, 4, 512), (nbd.WRITE_ZEROES, 5, 1 << 20), (nbd.BLOCK_STATUS, 6, 512),
			    (99, 7, 0)):
	for _ in range(count):
		c.do(kind, 0, length, data=bytes(length) if kind == nbd.WRITE else b"")
c.do(nbd.FLUSH)
c.do(nbd.READ, 1 << 50, 512)
c.send(nbd.request(nbd.DISC))
assert c.dropped()
# The same number as often as there are iothreads: they take turns.
for _ in range(2):
	c = nbd.connect(sys.argv[2])
	c.send(b"".join(nbd.request(nbd.READ, i * 512, 512, cookie=i) for i in range(100)))
	c.lengths = {i: 512 for i in range(100)}
	assert {c.reply().cookie for _ in range(100)} == set(range(100))
	c.close()
END
stop_target
holds stats.json "d['program'] == 'nbd-target'" "sums('requests', 'read') == 2 + 2 * 100" \
	"sums('requests', 'write') == 2" "sums('requests', 'discard') == 3" "sums('requests', 'cache') == 4" \
	"sums('requests', 'write_zeroes') == 5" "sums('requests', 'block_status') == 6" \
	"sums('requests', 'unsupported') == 7" "sums('requests', 'flush') == 1" "sums('errors') == 8" \
	"sums('bytes', 'read') == 201 * 512" "sums('bytes', 'write') == 2048" "sums('bytes', 'discard') == 3 * 4096" \
	"sums('bytes', 'write_zeroes') == 5 << 20" \
	"all(t['requests']['read'] >= 100 for t in threads)"
# What was sent together was taken together, and answered together.
holds stats.json "all(max(low for low, n in t['batch']) >= 50 for t in threads)" \
	"sum(total(t['batch']) for t in threads) <= 31 + 2 * 3" \
	"sums('notifications', 'sent') <= 31 + 2 * 3" "sums('notifications', 'sent') >= 31"

start --backend null --stats stats.json
stock_passes --name=job --rw=randread --bs=4k --iodepth=32 --time_based --runtime=2 --size=1g
stop_target
holds stats.json "sums('requests', 'read') > 0" "sums('errors') == 0"
