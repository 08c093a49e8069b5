#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --max-clients is how many are served at once; one more is told why it is not, and idle ones keep their places.
. "$(dirname "$0")/target.sh"

requires nbdinfo --version
start --backend ram --size 16M --max-clients 2
/usr/bin/python3 - "$SRC" "$socket" <<'END' || fail "places"
import os, subprocess, sys
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
idle = [nbd.connect(sys.argv[2]) for _ in range(2)]
def told():
	return subprocess.run(["nbdinfo", "--size", f"nbd+unix:///?socket={sys.argv[2]}"], capture_output=True, text=True)
for _ in range(3):
	refused = told()
	assert refused.returncode, "a third client is served"
	assert "server policy" in refused.stderr, refused.stderr
# What libnbd leaves out
with nbd.Client(sys.argv[2]) as refused:
	(kind, text), = refused.option(nbd.OPT_LIST)
	assert (kind, text) == (1 << 31 | 2, b"too many clients (see --max-clients)"), (kind, text)
for client in idle:
	client.do(nbd.READ, 0, 512)
idle[0].close()
for _ in range(100):
	served = told()
	if not served.returncode:
		break
assert served.stdout == f"{16 << 20}\n", served
END
told()
{
	[ "$(grep -c "client refused on .*: too many clients (see --max-clients)$" target.err)" -ge 3 ]
}
wait_for 5 told || fail "it says: $(cat target.err)"
stop_target || fail "status $?"
