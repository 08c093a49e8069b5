#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Clients that do nothing but connect, as many as can be, keep neither others nor the end waiting."""

import collections
import contextlib
import struct
import subprocess
import sys
import time
import unittest

import bench
import nbd_bench
import nbd_client as nbd
import vhost_user_client as vu

# Connects without end, and keeps the last 500 connections open.
FLOOD = """
import collections, socket, sys
kept = collections.deque(maxlen=500)
while True:
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(sys.argv[1])
    except OSError:
        break
    kept.append(sock)
    if len(kept) == 100:
        print("on", flush=True)
"""


@contextlib.contextmanager
def flood(target, processes=2):
    """Two CPUs' worth of connects."""
    with contextlib.ExitStack() as stack:
        for _ in range(processes):
            p = subprocess.Popen([sys.executable, "-c", FLOOD, target.socket], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            stack.enter_context(p)
            stack.callback(p.kill)
            p.stdout.readline()
        yield


def connect(target):
    """A client that is served; others may have taken its place while it came."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        # A client that is turned away is left to the collector.
        with contextlib.suppress(nbd.Dropped, EOFError, OSError):
            if isinstance(target, nbd_bench.Target):
                return nbd.connect(target.socket)
            return vu.Device(target.socket)
    raise AssertionError("no client gets in")


def read(client):
    if isinstance(client, nbd.Client):
        client.read(0, 512)
    else:
        client.ring.read(0)


class Flood(unittest.TestCase):
    def check(self, make_target, make_good_client):
        target = make_target()
        self.addCleanup(target.close)
        good = make_good_client(target.socket)
        good.start()
        with flood(target):
            reads = good.reads
            self.assertTrue(bench.wait_until(lambda: good.reads > reads + 50, 30),
                            "a client from before waits")
            with contextlib.closing(connect(target)) as client:
                for _ in range(20):
                    read(client)
            good.finish()
            self.assertIsNone(good.error)
            print(f"longest gap {good.longest * 1e3:.0f} ms", file=sys.stderr)
            # It took half a minute when the target let in whoever waits before it looked.
            self.assertEqual(target.stop(20), 0, "the target does not end")

    def test_vhost_user(self):
        self.check(bench.Target, bench.GoodClient)

    def test_nbd(self):
        self.check(nbd_bench.Target, nbd_bench.GoodClient)


class HalfOpen(bench.BadClientTest):
    def test_silent_ones_give_way(self):
        silent = [vu.Client(self.target.socket) for _ in range(63)]
        devices = [self.connect() for _ in range(3)]
        for device in devices:
            device.ring.read(0)
            device.close()
        # Those that came first went first.
        for client in silent[:3]:
            self.assertTrue(client.dropped())
        silent[3].ask_u64(vu.GET_FEATURES)
        self.expect_line(r"client \d+ dropped: evicted for a new client: no message received$", 3)
        for client in silent:
            client.close()

    def test_deadlines(self):
        """For the first message, and for one that has begun; there is none between them."""
        half = struct.pack("<III", vu.SET_VRING_NUM, vu.VERSION, 8)
        clients = [vu.Client(self.target.socket, timeout=30) for _ in range(4)]
        clients[1].send_raw(half[:5])
        clients[2].ask_u64(vu.GET_FEATURES)
        clients[2].send_raw(half)
        clients[3].ask_u64(vu.GET_FEATURES)
        for client in clients[:3]:
            self.assertTrue(client.dropped(30))
        clients[3].ask_u64(vu.GET_FEATURES)
        lines = []
        bench.wait_until(lambda: lines.extend(self.target.new_lines()) or len(lines) >= 3)
        texts = collections.Counter(line.partition(" dropped: ")[2] for line in lines)
        self.assertEqual(texts, {"no message received": 2, "timed out in the middle of a message": 1})
        for client in clients:
            client.close()


class HalfOpenNbd(nbd_bench.BadClientTest):
    def test_handshakes_give_way(self):
        # The good client has one of the 256 places.
        halves = [self.shake_hands() for _ in range(255)]
        clients = [self.connect() for _ in range(3)]
        for client in clients:
            client.read(0, 512)
        for client in halves[:3]:
            self.assertTrue(client.dropped())
        self.assertEqual(halves[3].option(nbd.OPT_ABORT), [(nbd.REP_ACK, b"")])
        self.expect_line(r"client \d+ dropped: evicted for a new client: oldest handshake", 3)


if __name__ == "__main__":
    bench.main()
