#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A client that leaves with requests in flight and is back at once, with the same memory."""

import os
import struct
import time
import unittest

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Memory, Ring, inflight, u64

SIZE = 64 << 20
QUIET_SECTORS = 2048
RECORD_BYTES = 4096
# How often a slow request clears the disk: for about a second
TIMES = 4 if bench.SANITIZED else 64
SLOW, QUICK = 0, 1                  # slots of requests


class SplitRing(Ring):
    def has_surplus(self):
        """Whether there are more answers than have been taken."""
        return self.has_used()


class PackedRing(Ring):
    """A packed ring in its first lap, of chains of three descriptors: VIRTIO 1.2, section 2.8.

    Its two event suppression structures lie where a split ring has avail and used, all zero.
    """

    AVAIL, USED = 1 << 7, 1 << 15

    def __init__(self, memory, num=16):
        super().__init__(memory, num)
        self.chain = []

    def desc(self, i, addr, length, flags=0, following=0):
        self.chain.append((addr, length, flags))

    def flags(self, index):
        return (self.at + 16 * index + 14) // 2

    def post(self, head, count=1, kick=True):
        assert len(self.chain) == 3 and self.avail_idx + 3 <= self.num
        # The first one's flags last: they show them all.
        for i in (2, 1, 0):
            addr, length, flags = self.chain[i]
            struct.pack_into("<QIH", self.m.map, self.at + 16 * (self.avail_idx + i), addr, length,
                             head)
            self.m.u16[self.flags(self.avail_idx + i)] = flags | self.AVAIL
        self.avail_idx += 3
        self.chain = []
        if kick:
            self.notify()

    def has_used(self):
        return self.m.u16[self.flags(self.used_idx)] & self.USED

    def take(self):
        head = struct.unpack_from("<H", self.m.map, self.at + 16 * self.used_idx + 12)[0]
        # It is the driver's again: nobody else has a reason to write there.
        self.m.u16[self.flags(self.used_idx)] = 0
        self.used_idx += 3
        return head

    def has_surplus(self):
        return any(self.m.u16[self.flags(i)] & self.USED for i in range(self.num))


class Guest:
    """What stays when a connection goes: memory, a ring, and a record of requests in flight."""

    def __init__(self, packed, record):
        self.features = vu.FEATURES | (vu.F_PACKED if packed else 0)
        self.memory = Memory()
        self.ring = (PackedRing if packed else SplitRing)(self.memory)
        self.record = -1
        if record:
            self.record = os.memfd_create("record")
            os.ftruncate(self.record, RECORD_BYTES)

    def close(self):
        self.ring.close()
        self.memory.close()
        if self.record >= 0:
            os.close(self.record)

    def base(self):
        """Where a device goes on that knows only what has been answered."""
        used = self.ring.used_idx
        return (used | 0x8000) * 0x10001 if self.features & vu.F_PACKED else used

    def connect(self, path):
        client = Client(path)
        client.send(vu.SET_PROTOCOL_FEATURES, u64(vu.PROTOCOL | vu.PROTOCOL_INFLIGHT))
        client.tell(vu.SET_OWNER)
        client.tell(vu.SET_FEATURES, u64(self.features))
        if self.record >= 0:
            client.tell(vu.SET_INFLIGHT_FD, inflight(RECORD_BYTES), [self.record])
        client.share(self.memory)
        client.start(self.ring, base=self.base())
        return client

    def quick(self, kick=True):
        self.ring.request(vu.GET_ID, 0, 20, QUICK, kick)

    def slow(self, times):
        """One that keeps a worker busy: it clears the disk over and over, but for what others read."""
        ranges = struct.pack("<QII", QUIET_SECTORS, (SIZE >> 9) - QUIET_SECTORS, 0) * times
        at = self.ring.data + 8192 * SLOW + 4096
        self.memory.map[at:at + len(ranges)] = ranges
        self.ring.request(vu.WRITE_ZEROES, 0, len(ranges), SLOW)


class Reconnects(bench.BadClientTest):
    options = ("--size", str(SIZE), "--aio", "threads")

    def comes_back(self, packed, record):
        guest = Guest(packed, record)
        self.addCleanup(guest.close)
        ring = guest.ring
        client = guest.connect(self.target.socket)
        self.addCleanup(client.close)
        guest.quick(kick=False)
        guest.slow(TIMES)
        # They are taken together, so that the other one is in a worker's hands now.
        self.assertEqual(ring.wait(), 3 * QUICK)
        client.close()

        client = guest.connect(self.target.socket)
        self.addCleanup(client.close)
        self.assertEqual(ring.wait(30), 3 * SLOW)
        self.assertEqual(ring.status(SLOW), vu.OK)
        guest.quick()
        self.assertEqual(ring.wait(), 3 * QUICK)
        self.assertEqual(ring.status(QUICK), vu.OK)
        client.close()
        self.assertTrue(bench.wait_until(lambda: self.target.fds() == self.fds, 30))
        self.assertFalse(ring.has_surplus(), "something was answered twice")

    def test_split(self):
        self.comes_back(packed=False, record=True)

    def test_packed(self):
        self.comes_back(packed=True, record=True)

    def test_split_without_record(self):
        self.comes_back(packed=False, record=False)

    def test_packed_without_record(self):
        self.comes_back(packed=True, record=False)


class Delayed(unittest.TestCase):
    """Nobody waits for the service time of requests whose client has gone."""

    def test_back_at_once(self):
        target = bench.Target("--size", str(SIZE), "--aio", "threads", "--delay", "fixed:30s")
        self.addCleanup(target.close)
        guest = Guest(packed=False, record=True)
        self.addCleanup(guest.close)
        client = guest.connect(target.socket)
        self.addCleanup(client.close)
        guest.slow(1)
        # A worker has it for some milliseconds only, so there is no time to sleep.
        while os.pread(guest.record, 1, 16) != b"\1":
            pass
        client.close()
        began = time.monotonic()
        guest.connect(target.socket).close()
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(target.stop(), 0)


if __name__ == "__main__":
    bench.main()
