# SPDX-License-Identifier: GPL-2.0-only
"""size_max_proxy.py LISTEN TARGET BYTES

Stands between vhost-user front ends and a target, whose device offers VIRTIO_BLK_F_SIZE_MAX
with BYTES through it, as SPDK vhost's does with 128 KiB. Only messages pass through here:
rings and data are in the memory that they hand on.
"""

import os
import socket
import struct
import sys

GET_FEATURES, SET_FEATURES, GET_CONFIG = 1, 2, 24
ANSWERED = (GET_FEATURES, 11, 15, 17, GET_CONFIG, 36)
NEED_REPLY = 8
SIZE_MAX = 1 << 1
# Behind the offset, size and flags of the message, and the capacity.
SIZE_MAX_AT = 12 + 8

HEADER = struct.Struct("<III")


def receive(sock):
    """A message and its descriptors, None at the end of the connection."""
    head, fds, _, _ = socket.recv_fds(sock, HEADER.size, 8)
    if not head:
        return None
    request, flags, size = HEADER.unpack(head)
    payload = sock.recv(size, socket.MSG_WAITALL) if size else b""
    return request, flags, bytearray(payload), fds


def send(sock, request, flags, payload, fds):
    socket.send_fds(sock, [HEADER.pack(request, flags, len(payload)) + payload], fds)
    for fd in fds:
        os.close(fd)


def change_features(payload, change):
    payload[:] = struct.pack("<Q", change(struct.unpack("<Q", payload)[0]))


def serve(front, target, size_max):
    while message := receive(front):
        request, flags, payload, _ = message
        if request == SET_FEATURES:
            change_features(payload, lambda bits: bits & ~SIZE_MAX)
        send(target, *message)
        if request not in ANSWERED and not flags & NEED_REPLY:
            continue
        answer = receive(target)
        if not answer:
            return
        if request == GET_FEATURES:
            change_features(answer[2], lambda bits: bits | SIZE_MAX)
        if request == GET_CONFIG:
            struct.pack_into("<I", answer[2], SIZE_MAX_AT, size_max)
        send(front, *answer)


def main():
    listen, target_path, size_max = sys.argv[1:]
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(listen)
    server.listen(1)
    while True:
        front, _ = server.accept()
        with front, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as target:
            target.connect(target_path)
            serve(front, target, int(size_max))


if __name__ == "__main__":
    main()
