#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Errors of the backend reach the client as what they are, and where they were.
. "$(dirname "$0")/target.sh"

start --backend ram --size 16M --fail-after 5 --stats stats.json
/usr/bin/python3 - "$SRC" "$socket" <<'END'
import os, sys
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
simple, structured = nbd.connect(sys.argv[2]), nbd.connect(sys.argv[2], context=True)
for _ in range(5):
	assert not simple.do(nbd.READ, 0, 4096).error
for kind in (nbd.READ, nbd.WRITE, nbd.FLUSH, nbd.TRIM, nbd.CACHE, nbd.WRITE_ZEROES, nbd.BLOCK_STATUS):
	for c in (simple, structured):
		if kind == nbd.BLOCK_STATUS and c is simple:
			continue
		offset, length = (0, 0) if kind == nbd.FLUSH else (8192, 4096)
		reply = c.do(kind, offset, length, data=bytes(4096) if kind == nbd.WRITE else b"")
		assert reply.error == nbd.EIO and not reply.data, kind
		if c is structured:
			place = kind != nbd.FLUSH
			assert [k for k, _ in reply.chunks] == [nbd.ERROR_OFFSET if place else nbd.ERROR]
			assert reply.place == (8192 if place else None)
END
! stock --name=job --rw=read --bs=4k --size=1m || fail "fio saw no error"
said | grep -q 'Input/output error' || { said; fail "fio saw another error"; }
stop_target
holds stats.json "sums('errors') >= 14"
target_said_nothing

# A file that has shrunk
truncate -s 1M file
start --backend file:file
truncate -s 4096 file
! stock --name=job --rw=read --bs=64k --size=1m || fail "read past the end of the file"
