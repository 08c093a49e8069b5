#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Descriptors whose close() waits for an hour keep nobody but themselves."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import bench
import nbd_bench
import nbd_client as nbd
import vhost_user_client as vu
from vhost_user_client import Client, u64


def send_lingering(target, send, count=1):
    """Have @send(descriptors) send TCP sockets whose last close() waits for data to be taken.

    It is a child process that does so: to end is the one way to part with such a socket that
    never waits. The target stands still meanwhile, so that its close() is the last one. Returns
    the other ends, which do not take any data.
    """
    target.process.send_signal(signal.SIGSTOP)
    try:
        return send_from_child(send, count)
    finally:
        target.process.send_signal(signal.SIGCONT)


def send_from_child(send, count):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                socks = [lingering(listener.getsockname()) for _ in range(count)]
                send([sock.fileno() for sock in socks])
                status = 0
            finally:
                os._exit(status)
        peers = [listener.accept()[0] for _ in range(count)]
        _, status = os.waitpid(pid, 0)
    return peers, status


def lingering(address):
    sock = socket.create_connection(address)
    sock.setblocking(False)
    try:
        while True:
            sock.send(bytes(1 << 20))
    except BlockingIOError:
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    return sock


class SlowClose(bench.BadClientTest):
    longest_gap = None

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def send(self, client, request, payload=b"", count=1):
        """A message with such descriptors, of which none is left here."""
        self.lingering(lambda fds: client.send(request, payload, fds), count)

    def lingering(self, send, count=1):
        peers, status = send_lingering(self.target, send, count)
        for peer in peers:
            self.addCleanup(peer.close)
        return status

    def client(self):
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        return client

    def refused(self, request, payload=b"", count=1):
        client = self.client()
        self.send(client, request, payload, count)
        self.assertTrue(client.dropped(), "the client was not dropped")
        client.close()
        self.expect_line(r"^client \d+ dropped: ")
        self.check_new_client()

    def test_as_memory(self):
        self.refused(vu.SET_MEM_TABLE, struct.pack("<IIQQQQ", 1, 0, 0, 4096, 0, 0))
        self.refused(vu.ADD_MEM_REG, struct.pack("<QQQQQ", 0, 0, 4096, 0, 0))
        self.refused(vu.SET_INFLIGHT_FD, vu.inflight(1 << 20))

    def test_where_none_belongs(self):
        self.refused(vu.SET_OWNER)

    def test_more_than_a_message_may_bring(self):
        self.refused(vu.SET_OWNER, count=20)

    def test_with_a_message_of_another_version(self):
        client = self.client()
        self.lingering(lambda fds: client.send(vu.SET_OWNER, b"", fds, flags=2))
        self.assertTrue(client.dropped())
        self.expect_line(r"^client \d+ dropped: ")
        client.close()
        self.check_new_client()

    def test_behind_the_head_of_a_message(self):
        client = self.client()
        client.send_raw(vu.HEADER.pack(vu.SET_FEATURES, vu.VERSION, 8))
        self.lingering(lambda fds: client.send_raw(u64(vu.FEATURES), fds))
        client.ask_u64(vu.GET_FEATURES)
        client.close()
        self.check_new_client()

    def test_that_nobody_receives(self):
        """The queue of the client's socket goes with it."""
        client = self.client()
        client.send(99)
        self.send(client, vu.SET_OWNER)
        self.assertTrue(client.dropped())
        client.close()
        self.expect_line(r"^client \d+ dropped: ")
        self.check_new_client()

    def test_as_those_of_a_queue(self):
        for request in (vu.SET_VRING_KICK, vu.SET_VRING_CALL, vu.SET_VRING_ERR):
            with self.subTest(request=request), self.connect() as device:
                device.ring.read(0)
                self.send(device.client, request, u64(0))
                self.assertTrue(device.client.dropped())
                self.expect_line("kick, call or error descriptor is not an eventfd$")
            self.check_new_client()


class TurnedAway(bench.BadClientTest):
    """Clients that find no place."""

    def test_with_such_descriptors(self):
        clients = [Client(self.target.socket) for _ in range(63)]
        for client in clients:
            client.ask_u64(vu.GET_FEATURES)
        for _ in range(3):
            client = Client(self.target.socket)
            # It fails where the target is fast.
            peers, _ = send_lingering(self.target, lambda fds, c=client: c.send(vu.SET_OWNER, b"", fds))
            client.dropped()
            client.close()
            for peer in peers:
                peer.close()
        for client in clients:
            client.close()
        bench.wait_until(lambda: self.target.fds() == self.fds)
        self.target.new_lines()
        self.check_new_client()


class SlowCloseNbd(nbd_bench.BadClientTest):
    longest_gap = None

    def send(self, client, data):
        def send_all(fds):
            try:
                socket.send_fds(client.sock, [data], fds)
            except PermissionError:
                client.send(data)

        for peer in send_lingering(self.target, send_all)[0]:
            self.addCleanup(peer.close)

    def test_with_requests(self):
        client = self.connect()
        for _ in range(3):
            self.send(client, nbd.request(nbd.READ, 0, 512))
            client.lengths[1] = 512
            client.reply()

    def test_with_a_handshake(self):
        client = self.shake_hands()
        self.send(client, struct.pack(">QII", nbd.IHAVEOPT, nbd.OPT_ABORT, 0))
        client.dropped()
        client.close()
        self.check_new_client()


class OldKernelTarget(nbd_bench.Target):
    """On a kernel that cannot refuse descriptors (before Linux 6.16)."""

    SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int (*real)(int, int, int, const void *, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");

	if (level == SOL_SOCKET && name == 83) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return real(fd, level, name, value, len);
}
"""

    def __init__(self, *options):
        with tempfile.TemporaryDirectory() as d:
            library = os.path.join(d, "old.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"], check=True,
                           input=self.SOURCE, text=True)
            os.environ["LD_PRELOAD"] = library
            try:
                super().__init__(*options)
            finally:
                del os.environ["LD_PRELOAD"]


@unittest.skipIf(bench.SANITIZED or not shutil.which("cc"), "needs a compiler, and no sanitizer")
class SlowCloseOldKernel(SlowCloseNbd):
    make_target = OldKernelTarget


if __name__ == "__main__":
    bench.main()
