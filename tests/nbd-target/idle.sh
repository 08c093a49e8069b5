#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# With clients that have nothing to do, no policy but busy costs CPU, and busy does.
. "$(dirname "$0")/target.sh"

end_client()
{
	[ -z "$client" ] || kill -KILL "$client"
	[ -z "$client" ] || wait "$client" 2>/dev/null || true
	client=
}

for poll in off adaptive weighted busy; do
	start --backend ram --size 16M --poll $poll
	/usr/bin/python3 - "$SRC" "$socket" <<'END' &
import os, sys, time
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
clients = [nbd.connect(sys.argv[2]) for _ in range(3)] + [nbd.Client(sys.argv[2])]
for _ in range(200):
	clients[0].read(0, 4096)
open("ready", "w").close()
time.sleep(60)
END
	client=$!
	cleanup_fn end_client
	wait_for 10 [ -e ready ] || fail "the clients do not get ready"
	rm ready
	sleep 0.2
	if [ $poll = busy ]; then
		! idles 100 || fail "busy does not poll"
	else
		idles 10 || fail "$poll takes CPU"
	fi
	stop_target || fail "status $?"
	end_client
done
