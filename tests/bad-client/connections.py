#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Clients that come, go, hang and crowd at bad moments."""

import os
import resource
import signal
import socket
import struct
import time

import bench
import vhost_user_client as vu
from vhost_user_client import Client, state

HALF = struct.pack("<III", vu.SET_VRING_NUM, vu.VERSION, 8)


class Connections(bench.BadClientTest):
    def client(self):
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        return client

    def test_half_a_message_then_silence(self):
        for part in (HALF[:1], HALF[:11], HALF, HALF + b"\0\0\0"):
            with self.subTest(bytes=len(part)):
                client = self.client()
                client.send_raw(part)
                with self.connect() as other:
                    other.ring.read(0)
                client.close()
                self.expect_line(r"client \d+ dropped: bad message: Broken pipe$")
                self.check_new_client()

    def test_a_hundred_in_a_row(self):
        for i in range(100):
            client = Client(self.target.socket)
            if i % 2:
                client.ask_u64(vu.GET_FEATURES)
            client.close()
        self.check_new_client()

    def test_devices_in_a_row(self):
        for i in range(50):
            with self.connect() as device:
                device.ring.request(vu.IN, i, 4096)

    def test_more_clients_than_places(self):
        # The good client has one of the 64 places.
        clients = [self.client() for _ in range(63)]
        for client in clients:
            client.ask_u64(vu.GET_FEATURES)
        clients += [self.client() for _ in range(7)]
        for client in clients[63:]:
            self.assertTrue(client.dropped())
        self.expect_line("^client refused on ", count=7)
        for client in clients:
            client.close()
        self.assertTrue(bench.wait_until(lambda: self.target.fds() == self.fds))
        self.check_new_client()

    def test_answers_that_nobody_reads(self):
        client = self.client()
        client.sock.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            while True:
                client.send(vu.GET_FEATURES)
        with self.connect() as other:
            other.ring.read(0)
        client.close()
        self.check_new_client()
        # It has left in the middle of an answer, or in that of a message, which is worth a line.
        for line in self.target.new_lines():
            self.check_line(line, r"client \d+ dropped: bad message")

    def test_hangs_up_without_reading_answers(self):
        for _ in range(20):
            client = self.client()
            for _ in range(10):
                client.send(vu.GET_FEATURES)
            client.close()
        time.sleep(0.1)
        self.target.new_lines()     # as the answer in flight may have met a closed door
        self.check_new_client()


class Delayed(bench.BadClientTest):
    """Requests take 100 ms, so they are in flight whenever a client goes."""

    options = ("--delay", "fixed:100ms")

    def test_disconnect_in_flight(self):
        for _ in range(10):
            with self.connect(num=64) as device:
                for slot in range(20):
                    device.ring.request(vu.IN, slot, 512, slot=slot, kick=slot == 19)
                time.sleep(0.01)
        self.check_new_client()

    def test_broken_ring_with_requests_in_flight(self):
        with self.dropped("a descriptor chain loops$") as d:
            for slot in range(1, 4):
                d.ring.request(vu.IN, slot, 512, slot=slot)
            time.sleep(0.01)
            d.ring.desc(0, d.ring.guest(0), 16, vu.NEXT, 0)
            d.ring.post(0)

    def test_stopping_a_ring_waits_for_them(self):
        with self.connect() as d:
            for slot in range(4):
                d.ring.request(vu.IN, slot, 512, slot=slot)
            time.sleep(0.01)
            self.assertEqual(d.client.ask(vu.GET_VRING_BASE, state(0, 0)), state(0, 4))
            self.assertEqual(d.memory.u16[(d.ring.used + 2) // 2], 4)

    def test_more_in_flight_than_the_ring_holds(self):
        with self.dropped("more requests are in flight than the ring holds$", num=4) as d:
            for _ in range(3):
                for _ in range(4):
                    d.ring.post(0, kick=False)
                d.ring.notify()
                time.sleep(0.02)


class Shrinks(bench.BadClientTest):
    """A client takes pages away from memory that the target has mapped."""

    def shrunk(self):
        return self.dropped("client [0-9]+ dropped: shared memory was truncated")

    def test_no_data_buffer_left(self):
        for kind in (vu.IN, vu.OUT):
            with self.subTest(kind=kind), self.shrunk() as d:
                # The ring is in the first page, header and status in the second.
                os.ftruncate(d.memory.fd, d.ring.data + 4096)
                d.ring.request(kind, 0, 4096)

    def test_no_header_left(self):
        with self.shrunk() as d:
            os.ftruncate(d.memory.fd, d.ring.data)
            d.ring.desc(0, d.ring.guest(0), 16, vu.NEXT, 1)
            d.ring.desc(1, d.ring.guest(64), 1, vu.WRITE)
            d.ring.post(0)

    def test_no_ring_left(self):
        with self.shrunk() as d:
            os.ftruncate(d.memory.fd, 0)
            d.ring.notify()

    def test_at_full_speed(self):
        for size in (0, 4096, 8192, 3 * 8192):
            with self.subTest(size=size), self.shrunk() as d:
                for slot in range(5):
                    d.ring.request(vu.OUT, slot, 4096, slot=slot, kick=False)
                d.ring.notify()
                os.ftruncate(d.memory.fd, size)
                # What was served meanwhile is asked for again, without a look at the ring.
                d.ring.notify()
                if size:
                    for _ in range(5):
                        d.ring.post(12)

    def test_many_in_a_row(self):
        devices = [self.connect() for _ in range(50)]
        for d in devices:
            d.ring.read(0)
        for d in devices:
            os.ftruncate(d.memory.fd, 0)
            d.ring.notify()
        for d in devices:
            self.assertTrue(d.client.dropped())
            d.close()
        self.expect_line("shared memory was truncated", count=50)
        self.check_new_client()

    def test_one_of_several_regions(self):
        with self.shrunk() as d:
            other = vu.Memory(guest=0x80000000, user=0x7E0000000000)
            self.addCleanup(other.close)
            d.client.tell(vu.ADD_MEM_REG, vu.u64(0) + other.region(), [other.fd])
            os.ftruncate(other.fd, 0)
            place = d.ring.guest(0)
            d.ring.desc(0, place, 16, vu.NEXT, 1)
            d.ring.desc(1, other.guest, 4096, vu.WRITE | vu.NEXT, 2)
            d.ring.desc(2, place + 64, 1, vu.WRITE)
            d.ring.post(0)
            self.assertTrue(d.client.dropped())
            self.assertFalse(d.ring.has_used(), "an answer from memory that is gone")

    def test_before_the_ring_starts(self):
        with self.connect() as d:
            d.client.ask(vu.GET_VRING_BASE, state(0, 0))
            os.ftruncate(d.memory.fd, 0)
            kick = [d.ring.kick]
            d.client.send(vu.SET_VRING_KICK, vu.u64(0), kick, vu.VERSION)
            self.assertTrue(d.client.dropped())
        self.expect_line("shared memory was truncated")
        self.check_new_client()

    def test_shrunk_memory_that_is_not_used(self):
        with self.connect() as d:
            d.ring.read(0)
            os.ftruncate(d.memory.fd, 8192 + d.ring.data)
            d.ring.read(0)
            d.client.ask_u64(vu.GET_FEATURES)
        self.check_new_client()


class ShrinksPolled(Shrinks):
    """The target looks at the ring all the time."""

    options = ("--poll", "busy")


class ShrinksDelayed(Shrinks):
    """Status and ring are written when the iothread is on to other things."""

    options = ("--delay", "fixed:20ms")


class SentSignal(bench.unittest.TestCase):
    """A SIGBUS that somebody sends is none of a client's doing."""

    def test_kill(self):
        target = bench.Target()
        self.addCleanup(target.close)
        target.process.send_signal(signal.SIGBUS)
        # A sanitizer makes another status of it.
        self.assertNotEqual(target.process.wait(5), 0)


class Ends(bench.unittest.TestCase):
    """SIGTERM must end the target, whatever its clients are up to."""

    def target(self, *options):
        target = bench.Target(*options)
        self.addCleanup(target.close)
        return target

    def test_with_half_a_message(self):
        target = self.target()
        client = Client(target.socket)
        client.send_raw(HALF)
        self.assertEqual(target.stop(), 0)
        client.close()

    def test_with_answers_that_nobody_reads(self):
        target = self.target()
        client = Client(target.socket)
        client.sock.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            while True:
                client.send(vu.GET_FEATURES)
        # The target waits for its reader for a while, but not for ever.
        self.assertEqual(target.stop(), 0)
        client.close()
        self.assertEqual(len(target.new_lines()), 1)

    def test_requests_in_flight_are_finished(self):
        target = self.target("--delay", "fixed:200ms")
        with vu.Device(target.socket) as device:
            for slot in range(4):
                device.ring.request(vu.IN, slot, 512, slot=slot)
            time.sleep(0.05)
            self.assertEqual(target.stop(), 0)
            heads = sorted(device.ring.wait(0.1) for _ in range(4))
            self.assertEqual(heads, [0, 3, 6, 9])
            self.assertEqual([device.ring.status(slot) for slot in range(4)], [vu.OK] * 4)
        self.assertEqual(target.new_lines(), [])


class OutOfDescriptors(bench.unittest.TestCase):
    """A client may not use up all descriptors of the process, and if it does, it passes."""

    def test_no_descriptor_left(self):
        target = bench.Target()
        self.addCleanup(target.close)
        before = target.fds()
        resource.prlimit(target.process.pid, resource.RLIMIT_NOFILE, (before + 4, before + 4))
        clients = []
        for _ in range(10):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.connect(target.socket)
            clients.append(sock)
        time.sleep(0.5)
        lines = target.new_lines()
        self.assertTrue(lines)
        self.assertLess(len(lines), 20, "a flood of messages")
        user, system = cpu_ticks(target.process.pid)
        time.sleep(0.5)
        after = cpu_ticks(target.process.pid)
        self.assertLess(after[0] + after[1] - user - system, 10, "the target spins")
        for sock in clients:
            sock.close()
        # Room again: a new client is served.
        client = Client(target.socket)
        client.ask_u64(vu.GET_FEATURES)
        client.close()
        self.assertEqual(target.stop(), 0)


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]), int(fields[12])


if __name__ == "__main__":
    bench.main()
