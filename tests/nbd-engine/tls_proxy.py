# SPDX-License-Identifier: GPL-2.0-only
"""tls_proxy.py DIR COMMAND...

Stands between clients and an NBD server for each, COMMAND on a socket that is its stdin and
stdout: one that aborts when its client goes takes no other along. stdin has a line for each
socket in DIR, "NAME BYTES stall|close|dribble": so many bytes of the server's pass, of each
connection, and then none, the connection is closed, or what is there passes byte by byte.
"""

import os
import socket
import subprocess
import sys
import threading
import time


def forward(source, sink, left, then):
    """Until an end of the connection."""
    while data := source.recv(65536):
        sink.sendall(data[:left])
        if len(data) > left:
            break
        left -= len(data)
    else:
        then = "close"
    for at in range(left, len(data) if then == "dribble" else 0):
        sink.sendall(data[at:at + 1])
        time.sleep(0.3)
    if then != "close":
        threading.Event().wait()
    sink.shutdown(socket.SHUT_RDWR)


def run(*args):
    try:
        forward(*args)
    except OSError:
        pass


def serve(listener, command, left, then):
    while True:
        client, _ = listener.accept()
        target, far = socket.socketpair()
        subprocess.Popen(command, stdin=far, stdout=far)
        far.close()
        threading.Thread(target=run, args=(client, target, sys.maxsize, "close"), daemon=True).start()
        threading.Thread(target=run, args=(target, client, left, then), daemon=True).start()


def main():
    threads = []
    for line in sys.stdin:
        name, left, then = line.split()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(sys.argv[1], name))
        listener.listen()
        threads.append(threading.Thread(target=serve, daemon=True,
                                        args=(listener, sys.argv[2:], int(left), then)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
