# SPDX-License-Identifier: GPL-2.0-only
"""cutting_proxy.py LISTEN TARGET GO SECONDS TIMES

Stands between a vhost-user front end and a target that lives on: from when there is a file GO
it cuts each connection SECONDS after it was made, TIMES in a row, and leaves the next one
alone. Only messages pass through here: rings and data are in the memory that they hand on.
"""

import os
import select
import socket
import sys
import time


def forward(source, sink):
    """What has arrived, with its descriptors; False at the end of the connection."""
    data, fds, _, _ = socket.recv_fds(source, 65536, 8)
    if data:
        socket.send_fds(sink, [data], fds)
    for fd in fds:
        os.close(fd)
    return bool(data)


def serve(front, target, seconds, go):
    """Until an end of the connection, or its time, has come; True if it was to be cut."""
    peer = {front: target, target: front}
    until = time.monotonic() + seconds
    while time.monotonic() < until or not os.path.exists(go):
        ready, _, _ = select.select(list(peer), [], [], min(seconds, 0.005))
        if not all(forward(sock, peer[sock]) for sock in ready):
            return False
    return True


def main():
    listen, target_path, go, seconds, times = sys.argv[1:]
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(listen)
    server.listen(1)
    left = int(times)
    while True:
        front, _ = server.accept()
        with front, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as target:
            target.connect(target_path)
            left -= serve(front, target, float(seconds) if left else float("inf"), go)


if __name__ == "__main__":
    main()
