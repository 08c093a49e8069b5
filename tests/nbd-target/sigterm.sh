#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# SIGTERM answers what is in flight, removes the socket and ends with status 0; a client
# that is idle, shaking hands, or deaf does not keep the target from that.
. "$(dirname "$0")/target.sh"

end_clients()
{
	kill -KILL "$clients"
	wait "$clients" 2>/dev/null
}

for aio in inline threads; do
	start --backend ram --size 16M --delay fixed:1s --aio $aio --stats stats.json
	/usr/bin/python3 - "$SRC" "$socket" <<'END' &
import os, sys
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
c = nbd.connect(sys.argv[2], structured=True)
for i in range(50):
	c.ask(nbd.READ, i * 4096, 4096, cookie=i)
replies = [c.reply() for _ in range(50)]
assert {r.cookie for r in replies} == set(range(50)), "replies are missing"
assert all(len(r.data) == 4096 and not r.error for r in replies)
assert c.dropped(), "the connection stays"
END
	client=$!
	wait_for 10 in_flight 50 || fail "no requests"
	kill -TERM "$target_pid"
	stop_target || fail "status $?"
	[ ! -e "$socket" ] || fail "the socket is still there"
	wait $client || fail "the client"
	holds stats.json "sums('requests', 'read') == 50" "sums('errors') == 0" "sums('bytes', 'read') == 50 * 4096"
done

start --backend ram --size 64M
/usr/bin/python3 - "$SRC" "$socket" <<'END' &
import os, sys, time
sys.path.insert(0, os.path.join(sys.argv[1], "tests"))
import nbd_client as nbd
clients = [nbd.connect(sys.argv[2]), nbd.Client(sys.argv[2]), nbd.Client(sys.argv[2], flags=None)]
deaf = nbd.connect(sys.argv[2])
deaf.send(nbd.request(nbd.READ, 0, 1 << 20) * 50)
open("ready", "w").close()
time.sleep(60)
END
clients=$!
cleanup_fn end_clients
wait_for 10 [ -e ready ] || fail "the clients do not get ready"
began=$SECONDS
kill -TERM "$target_pid"
stop_target || fail "status $?"
((SECONDS - began < 8)) || fail "it took $((SECONDS - began)) s"
[ "$(cat target.err)" = "nbd-target: client 3 dropped: client is not reading replies" ] || { cat target.err; fail "what it says"; }

# A job with more to do learns that the server is gone.
start --backend ram --size 16M
stock --name=job --rw=randwrite --bs=4k --iodepth=8 --time_based --runtime=60 --size=16m &
fio_pid=$!
fio_runs
stop_target || fail "status $?"
! wait $fio_pid || fail "success without a server"
