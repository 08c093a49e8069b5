# SPDX-License-Identifier: GPL-2.0-only
"""forgetful_device.py SOCKET SECONDS

A vhost-user-blk device that never answers the first request, and any other SECONDS after it has seen
it, one by one. It has one queue, and no data.
"""

import mmap
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
import vhost_user_client as vu  # noqa: E402

VERSION_1, PROTOCOL_FEATURES, CONFIG = 1 << 32, 1 << 30, 1 << 9
SECTORS = 16 << 11
HEADER = struct.Struct("<III")


class Device:
    def __init__(self, sock, pause):
        self.sock, self.pause = sock, pause
        self.kick = self.call = None
        self.num = self.seen = self.used = 0
        self.parts, self.todo, self.forgotten = (), [], None

    def message(self):
        """Take one; False at the end of the connection."""
        head, fds, _, _ = socket.recv_fds(self.sock, HEADER.size, 8)
        if not head:
            return False
        request, _, size = HEADER.unpack(head)
        payload = self.sock.recv(size, socket.MSG_WAITALL) if size else b""
        answer = self.take(request, payload, fds)
        if answer is not None:
            self.sock.sendall(HEADER.pack(request, 5, len(answer)) + answer)
        return True

    def take(self, request, payload, fds):
        if request == vu.GET_FEATURES:
            return struct.pack("<Q", VERSION_1 | PROTOCOL_FEATURES)
        if request == vu.GET_PROTOCOL_FEATURES:
            return struct.pack("<Q", CONFIG)
        if request == vu.GET_CONFIG:
            return payload[:12] + struct.pack("<Q", SECTORS).ljust(len(payload) - 12, b"\0")
        if request == vu.SET_MEM_TABLE:
            _, size, self.user, offset = struct.unpack_from("<QQQQ", payload, 8)
            self.memory = mmap.mmap(fds[0], size, offset=offset)
        elif request == vu.SET_VRING_NUM:
            self.num = struct.unpack_from("<I", payload, 4)[0]
        elif request == vu.SET_VRING_ADDR:
            self.parts = [at - self.user for at in struct.unpack_from("<QQQ", payload, 8)]
        elif request == vu.SET_VRING_KICK:
            self.kick = fds[0]
        elif request == vu.SET_VRING_CALL:
            self.call = fds[0]
        return None

    def status_at(self, head):
        """Where the last descriptor of a chain lies, which is a byte."""
        while True:
            at, _, flags, follows = struct.unpack_from("<QIHH", self.memory, self.parts[0] + 16 * head)
            if not flags & 1:
                return at - self.user
            head = follows

    def look(self):
        avail = self.parts[2]
        while self.seen != struct.unpack_from("<H", self.memory, avail + 2)[0]:
            head = struct.unpack_from("<H", self.memory, avail + 4 + 2 * (self.seen % self.num))[0]
            self.seen = self.seen + 1 & 0xffff
            if self.forgotten is None:
                self.forgotten = head
            else:
                self.todo.append(head)

    def answer(self):
        head, used = self.todo.pop(0), self.parts[1]
        self.memory[self.status_at(head)] = 0
        struct.pack_into("<II", self.memory, used + 4 + 8 * (self.used % self.num), head, 1)
        self.used = self.used + 1 & 0xffff
        # One store of two bytes: pack_into() writes zeroes first, which a polling driver sees.
        memoryview(self.memory)[used + 2:used + 4].cast("H")[0] = self.used
        os.write(self.call, (1).to_bytes(8, sys.byteorder))

    def serve(self):
        while True:
            fds = [self.sock] + ([self.kick] if self.kick is not None else [])
            ready = select.select(fds, [], [], self.pause)[0]
            if self.sock in ready and not self.message():
                return
            if self.kick in ready:
                os.read(self.kick, 8)
            if self.kick is not None and self.parts:
                self.look()
                if self.todo:
                    time.sleep(self.pause)
                    self.answer()


def main():
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(sys.argv[1])
    server.listen(1)
    while True:
        sock, _ = server.accept()
        with sock:
            Device(sock, float(sys.argv[2])).serve()


if __name__ == "__main__":
    main()
