#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What listens is no vhost-user device: silent, deaf, talkative or of another
# kind, it makes the run fail, not hang.
. "$(dirname "$0")/../fio.sh"

listen()
{
	rm -f socket
	/usr/bin/python3 -c '
import signal, socket, sys
kind = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "datagram" else
		  socket.SOCK_SEQPACKET if kind == "packets" else socket.SOCK_STREAM)
s.bind("socket")
if kind != "datagram":
	s.listen(0 if kind == "deaf" else 5)
held = []
if kind == "deaf":
	# A backlog that is full.
	for i in range(4):
		c = socket.socket(socket.AF_UNIX)
		c.setblocking(False)
		try:
			c.connect("socket")
		except BlockingIOError:
			pass
		held.append(c)
open("listens", "w")
while True:
	if kind in ("datagram", "deaf"):
		signal.pause()
	c = s.accept()[0]
	held.append(c)
	if kind == "closes":
		c.close()
	if kind == "garbage":
		c.sendall(bytes(range(256)) * 4)
	if kind == "greets":
		c.sendall(b"NBDMAGICIHAVEOPT")
	if kind == "half":
		c.sendall(bytes((1, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 0)))
	if kind == "empty":
		c.recv(12)
		c.sendall(bytes((1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0)))
' "$1" </dev/null &
	pid=$!
	cleanup_fn kill -KILL $pid
	wait_for 10 test -e listens
}
# shellcheck disable=SC2034 # of the functions
socket=socket
while read -r kind errors; do
	rm -f listens
	listen "$kind"
	SECONDS=0
	fio_fails 'vhost-user device' --stuck_timeout=1 --name=job --rw=randread --bs=4k --size=1m
	holds fio.json "jobs[0]['error'] in ($errors)"
	((SECONDS < 10)) || fail "$kind: took $SECONDS s"
	kill -KILL $pid
	wait $pid 2>/dev/null || true
done <<END
silent 110,
deaf 110,
closes 104, 32
garbage 71,
greets 71,
half 110,
empty 71,
datagram 91,
packets 91,
END
