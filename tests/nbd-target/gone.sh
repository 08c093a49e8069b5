#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A client that is gone has its place no longer, however slow the device; one that has only said its last gets
# its replies, and soon.
. "$(dirname "$0")/target.sh"

for aio in inline threads; do
	start --backend ram --size 16M --delay fixed:45s --aio $aio --stats stats.json
	open=$(find "/proc/$target_pid/fd" | wc -l)
	/usr/bin/python3 - "$SRC" "$socket" <<'END'
import os, socket, sys
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
gone = nbd.connect(sys.argv[2], structured=True)
# More than can be in flight: those behind are not even read.
gone.sock.settimeout(1)
try:
	gone.send(b"".join(nbd.request(nbd.READ, i * 512, 512, cookie=i) for i in range(30000)))
except socket.timeout:
	pass
else:
	sys.exit("all of it was taken")
gone.close()
few = nbd.connect(sys.argv[2], structured=True)
few.send(nbd.request(nbd.READ, 0, 512, cookie=1))
few.close()
for last in "DISC", "FIN":
	c = nbd.connect(sys.argv[2], structured=True, timeout=30)
	for i in range(10):
		c.ask(nbd.READ, i * 4096, 4096, cookie=i)
	if last == "DISC":
		c.send(nbd.request(nbd.DISC))
	else:
		c.sock.shutdown(socket.SHUT_WR)
	replies = [c.reply() for _ in range(10)]
	assert {r.cookie for r in replies} == set(range(10)) and not any(r.error for r in replies), last
	assert c.dropped(), f"{last}: the connection stays"
END
	left()
	{
		[ "$(find "/proc/$target_pid/fd" | wc -l)" -le "$1" ]
	}
	# The pool keeps what it has opened.
	wait_for 20 left $((open + 1)) || fail "places are taken: $(ls -l "/proc/$target_pid/fd")"
	stop_target || fail "status $?"
	[ ! -s target.err ] || { cat target.err; fail "it has something to say"; }
done
