#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Few but huge requests let others have their turn, and are carried out like small ones."""

import os
import random
import struct
import sys
import unittest

import bench
import nbd_bench
import nbd_client as nbd
import vhost_user_client as vu
from vhost_user_client import Client, Memory, Ring

GIB = 1 << 30


class Beside(bench.BadClientTest):
    """A good client on the same iothread goes on while another's requests take seconds."""

    longest_gap = None
    options = ("--size", "1G", "--iothreads", "1")

    def hog(self, num=512):
        """A device with 16 MiB of memory, its rings and data in the first."""
        memory = Memory(16 << 20)
        ring = Ring(memory, num)
        client = Client(self.target.socket)
        for thing in (client, ring, memory):
            self.addCleanup(thing.close)
        client.negotiate(vu.FEATURES | vu.F_INDIRECT)
        client.share(memory)
        client.start(ring)
        return ring

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def post_all(self, ring, kind, segments, requests):
        """Requests whose table names @segments, (address, length, flags), each time."""
        struct.pack_into("<IIQ", ring.m.map, ring.data, kind, 0, 0)
        entries = [(ring.guest(0), 16, 0)] + segments + [(ring.guest(64), 1, vu.WRITE)]
        last = len(entries) - 1
        ring.table(4096, [(a, n, f | (vu.NEXT if i < last else 0), i + 1)
                          for i, (a, n, f) in enumerate(entries)])
        for i in range(requests):
            ring.desc(i, ring.guest(4096), 16 * len(entries), vu.INDIRECT)
            ring.post(i, kick=i == requests - 1)

    def goes_on(self, unfinished):
        """The good client gets turns before the bad one has had all of its own."""
        reads = self.good.reads
        self.assertTrue(bench.wait_until(lambda: self.good.reads > reads + 20, 60), "it waits")
        self.assertTrue(unfinished(), "the bad client was done first: nothing is shown")
        print(f"longest gap {self.good.longest * 1e3:.0f} ms", file=sys.stderr)

    def used(self, ring):
        return ring.m.u16[(ring.used + 2) // 2]

    def test_reads(self):
        ring = self.hog()
        segment = (ring.m.guest + (8 << 20), 8 << 20, vu.WRITE)
        self.post_all(ring, vu.IN, [segment] * 127, 256)
        self.goes_on(lambda: self.used(ring) < 256)

    def test_write_zeroes(self):
        ring = self.hog()
        ranges = struct.pack("<QII", 0, GIB // 512, 0) * 64
        ring.m.map[4 << 20:(4 << 20) + len(ranges)] = ranges
        self.post_all(ring, vu.WRITE_ZEROES, [(ring.m.guest + (4 << 20), len(ranges), 0)], 5)
        self.goes_on(lambda: self.used(ring) < 5)

    def test_many_ranges(self):
        """Each of them would do."""
        ring = self.hog()
        ranges = struct.pack("<QII", 0, (1 << 20) // 512, 0) * 64
        ring.m.map[4 << 20:(4 << 20) + len(ranges)] = ranges
        self.post_all(ring, vu.WRITE_ZEROES, [(ring.m.guest + (4 << 20), len(ranges), 0)], 256)
        self.goes_on(lambda: self.used(ring) < 256)


@unittest.skipIf("thread" in bench.BUILD, "the thread sanitizer takes seconds for a slice of memory")
class BesideWithWorkers(Beside):
    """Nor is the pool's queue full of what takes long."""

    options = ("--size", "1G", "--iothreads", "1", "--aio", "threads", "--pool-threads", "2")
    test_many_ranges = None


class BesideNbd(nbd_bench.BadClientTest):
    longest_gap = None
    options = ("--size", "1G", "--iothreads", "1")

    goes_on = Beside.goes_on

    def test_write_zeroes(self):
        client = self.connect()
        length = 1008 << 20
        client.send(b"".join(nbd.request(nbd.WRITE_ZEROES, 16 << 20, length, i, 2) for i in range(256)))
        self.goes_on(lambda: True)


class Whole(unittest.TestCase):
    """What is done in slices is all there, whatever the pieces of memory."""

    def check(self, *options):
        target = bench.Target("--size", "64M", *options)
        self.addCleanup(target.close)
        rng = random.Random(7)
        memory = Memory(32 << 20)
        ring = Ring(memory)
        client = Client(target.socket)
        for thing in (client, ring, memory):
            self.addCleanup(thing.close)
        client.negotiate(vu.FEATURES | vu.F_INDIRECT)
        client.share(memory)
        client.start(ring)
        for total in (1 << 20, (1 << 20) + 512, 3 << 20, 9 << 20):
            data = rng.randbytes(total)
            at = 8 << 20
            memory.map[at:at + total] = data
            lengths, left = [], total
            while left:
                n = left if len(lengths) == 100 else min(left, rng.choice((1, 511, 4096, 70000, 1 << 20)))
                lengths.append(n)
                left -= n
            self.request(ring, vu.OUT, at, lengths)
            memory.map[at:at + total] = bytes(total)
            rng.shuffle(lengths)
            self.request(ring, vu.IN, at, lengths)
            self.assertTrue(memory.map[at:at + total] == data, f"{total} bytes differ")
        client.close()
        self.assertEqual(target.stop(), 0)
        self.assertEqual(target.new_lines(), [])

    def request(self, ring, kind, at, lengths):
        struct.pack_into("<IIQ", ring.m.map, ring.data, kind, 0, 16)
        ring.m.map[ring.data + 64] = 0xFF
        entries, place = [(ring.guest(0), 16, 0)], ring.m.guest + at
        for n in lengths:
            entries.append((place, n, vu.WRITE if kind == vu.IN else 0))
            place += n
        entries.append((ring.guest(64), 1, vu.WRITE))
        last = len(entries) - 1
        ring.table(4096, [(a, n, f | (vu.NEXT if i < last else 0), i + 1)
                          for i, (a, n, f) in enumerate(entries)])
        ring.desc(0, ring.guest(4096), 16 * len(entries), vu.INDIRECT)
        ring.post(0)
        ring.wait(60)
        self.assertEqual(ring.status(), vu.OK)

    def test_inline(self):
        self.check()

    def test_polled_with_a_delay(self):
        self.check("--poll", "busy", "--delay", "fixed:1ms")

    def test_workers(self):
        self.check("--aio", "threads")

    def test_file(self):
        for aio in ("inline", "threads", "io_uring"):
            with self.subTest(aio=aio):
                path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"disk-{os.getpid()}")
                with open(path, "wb") as f:
                    f.truncate(64 << 20)
                self.addCleanup(lambda p=path: os.path.exists(p) and os.unlink(p))
                self.check("--backend", f"file:{path}", "--aio", aio)

    def test_ends_in_the_middle(self):
        """A client that goes while slices are to come leaves nothing behind."""
        target = bench.Target("--size", "1G")
        self.addCleanup(target.close)
        for _ in range(5):
            with bench.patiently(vu.Device, target.socket) as device:
                ring = device.ring
                ranges = struct.pack("<QII", 0, GIB // 512, 0)
                struct.pack_into("<IIQ", ring.m.map, ring.data, vu.WRITE_ZEROES, 0, 0)
                ring.m.map[ring.data + 128:ring.data + 144] = ranges
                ring.desc(0, ring.guest(0), 16, vu.NEXT, 1)
                ring.desc(1, ring.guest(128), 16, vu.NEXT, 2)
                ring.desc(2, ring.guest(64), 1, vu.WRITE)
                for _ in range(3):
                    ring.post(0)
        with vu.Device(target.socket) as device:
            device.ring.read(0)
        self.assertEqual(target.stop(), 0)
        self.assertEqual(target.new_lines(), [])


if __name__ == "__main__":
    bench.main()
