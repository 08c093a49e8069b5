#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What some front ends do that others do not: odd, but it must work."""

import os
import select
import socket
import struct
import tempfile
import time

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Memory, Ring, u64, state


class Habits(bench.BadClientTest):
    def fresh(self, **options):
        """A connection with memory shared, and a ring it does not know of yet."""
        memory = Memory()
        self.addCleanup(memory.close)
        ring = Ring(memory)
        self.addCleanup(ring.close)
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        client.negotiate(**options)
        client.share(memory)
        return client, ring

    def device(self, **options):
        device = self.connect(**options)
        self.addCleanup(device.close)
        return device

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def describe(self, client, ring, index=0):
        client.tell(vu.SET_VRING_NUM, state(index, ring.num))
        client.tell(vu.SET_VRING_BASE, state(index, 0))
        client.tell(vu.SET_VRING_ADDR, ring.addresses(index))
        client.tell(vu.SET_VRING_CALL, u64(index), [ring.call])

    def test_enable_first_with_another_number(self):
        # SPDK's initiator
        client, ring = self.fresh()
        client.tell(vu.SET_VRING_ENABLE, state(0, 256))
        self.describe(client, ring)
        client.tell(vu.SET_VRING_KICK, u64(0), [ring.kick])
        ring.read(0)

    def test_kick_fd_first(self):
        client, ring = self.fresh()
        client.tell(vu.SET_VRING_KICK, u64(0), [ring.kick])
        client.tell(vu.SET_VRING_ENABLE, state(0, 1))
        self.describe(client, ring)
        ring.read(0)

    def test_kick_before_enable_is_not_lost(self):
        client, ring = self.fresh()
        self.describe(client, ring)
        ring.request(vu.IN, 0, 512)
        client.tell(vu.SET_VRING_KICK, u64(0), [ring.kick])
        time.sleep(0.05)
        self.assertFalse(ring.has_used(), "a ring that is not enabled was served")
        client.tell(vu.SET_VRING_ENABLE, state(0, 1))
        ring.wait()
        self.assertEqual(ring.status(), vu.OK)

    def test_disabled_ring_rests(self):
        d = self.device()
        d.ring.read(0)
        d.client.tell(vu.SET_VRING_ENABLE, state(0, 0))
        d.ring.request(vu.IN, 0, 512)
        time.sleep(0.05)
        self.assertFalse(d.ring.has_used())
        d.client.tell(vu.SET_VRING_ENABLE, state(0, 1))
        d.ring.wait()

    def test_without_protocol_features_a_ring_needs_no_enable(self):
        client, ring = self.fresh(features=vu.F_VERSION_1)
        self.describe(client, ring)
        client.tell(vu.SET_VRING_KICK, u64(0), [ring.kick])
        ring.read(0)

    def test_memory_table_again_while_running(self):
        d = self.device()
        for i in range(10):
            d.ring.request(vu.IN, i, 512)
            d.client.share(d.memory)
            d.ring.wait()
            self.assertEqual(d.ring.status(), vu.OK)

    def test_memory_table_again_after_the_ring_stopped(self):
        d = self.device()
        d.ring.read(0)
        d.client.ask(vu.GET_VRING_BASE, state(0, 0))
        d.client.share(d.memory)
        other = Memory(user=0x1000000)
        self.addCleanup(other.close)
        d.client.share(other)
        d.client.share(d.memory)
        d.client.start(d.ring, base=1)
        d.ring.read(0)

    def test_memory_by_slots(self):
        memory, extra = Memory(), Memory(guest=1 << 32, user=1 << 32)
        ring = Ring(memory)
        client = Client(self.target.socket)
        for thing in (memory, extra, ring, client):
            self.addCleanup(thing.close)
        client.negotiate()
        self.assertGreaterEqual(client.ask_u64(vu.GET_MAX_MEM_SLOTS), 8)
        client.tell(vu.ADD_MEM_REG, u64(0) + memory.region(), [memory.fd])
        client.start(ring)
        ring.read(0)
        # hot-plug and hot-unplug under a running ring
        client.tell(vu.ADD_MEM_REG, u64(0) + extra.region(), [extra.fd])
        ring.request(vu.IN, 3, 512, kick=False)
        ring.desc(1, extra.guest, 512, vu.NEXT | vu.WRITE, 2)
        ring.notify()
        ring.wait()
        self.assertEqual(ring.status(), vu.OK)
        client.tell(vu.REM_MEM_REG, u64(0) + extra.region(), [extra.fd])
        ring.read(0)

    def test_stop_and_go_on(self):
        d = self.device()
        for i in range(5):
            d.ring.read(i)
        answer = d.client.ask(vu.GET_VRING_BASE, state(0, 0))
        self.assertEqual(answer, state(0, 5))
        d.ring.request(vu.IN, 0, 512)
        time.sleep(0.05)
        self.assertFalse(d.ring.has_used(), "a stopped ring was served")
        d.client.start(d.ring, base=5)
        d.ring.wait()

    def test_base_of_a_ring_that_never_ran(self):
        client, _ = self.fresh()
        client.tell(vu.SET_VRING_BASE, state(2, 77))
        self.assertEqual(client.ask(vu.GET_VRING_BASE, state(2, 0)), state(2, 77))

    def test_features_again_on_a_running_ring(self):
        d = self.device()
        d.ring.read(0)
        d.client.tell(vu.SET_FEATURES, u64(vu.FEATURES | vu.F_INDIRECT))
        d.ring.read(1)

    def test_new_call_fd_on_a_running_ring(self):
        d = self.device()
        d.ring.read(0)
        os.close(d.ring.call)
        d.ring.call = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        d.client.tell(vu.SET_VRING_CALL, u64(0), [d.ring.call])
        for i in range(5):
            d.ring.read(i)

    def test_no_call_fd(self):
        d = self.device()
        d.client.tell(vu.SET_VRING_CALL, u64(0x100))
        d.ring.request(vu.IN, 0, 512)
        self.assertTrue(bench.wait_until(d.ring.has_used))

    def test_error_fd(self):
        d = self.device()
        fd = os.eventfd(0)
        self.addCleanup(os.close, fd)
        d.client.tell(vu.SET_VRING_ERR, u64(0), [fd])
        d.ring.read(0)
        d.ring.post(99)
        self.assertEqual(os.eventfd_read(fd), 1)
        self.assertTrue(d.client.dropped())
        self.expect_line(r"client \d+ dropped: a descriptor or ring index is out of range$")

    def test_call_fd_is_full(self):
        # A write to it would block, and with it the thread that serves everybody.
        d = self.device()
        fd = os.eventfd(0)
        self.addCleanup(os.close, fd)
        os.eventfd_write(fd, (1 << 64) - 2)
        d.client.tell(vu.SET_VRING_CALL, u64(0), [fd])
        for _ in range(3):
            d.ring.request(vu.IN, 0, 512)
            self.assertTrue(bench.wait_until(d.ring.has_used))
            d.ring.wait()

    def test_call_fd_stays_as_it_is(self):
        """Its flags are shared with the driver, who may sleep in read(): fio's libblkio engine does."""
        d = self.device()
        fd = os.eventfd(0)
        self.addCleanup(os.close, fd)
        d.client.tell(vu.SET_VRING_CALL, u64(0), [fd])
        d.ring.request(vu.IN, 0, 512)
        self.assertEqual(os.eventfd_read(fd), 1)
        self.assertTrue(os.get_blocking(fd))

    def test_error_fd_is_full(self):
        d = self.device()
        fd = os.eventfd(0)
        self.addCleanup(os.close, fd)
        os.eventfd_write(fd, (1 << 64) - 2)
        d.client.tell(vu.SET_VRING_ERR, u64(0), [fd])
        d.ring.post(99)
        self.assertTrue(d.client.dropped())
        self.expect_line(r"client \d+ dropped: a descriptor or ring index is out of range$")

    def test_descriptors_that_are_no_eventfds(self):
        """To poll, write or close them may take as long as somebody else wishes."""
        read, write = os.pipe()
        this, that = socket.socketpair()
        null = os.open("/dev/null", os.O_RDONLY)
        for fd in (read, write, null):
            self.addCleanup(os.close, fd)
        self.addCleanup(this.close)
        self.addCleanup(that.close)
        with select.epoll() as epoll, tempfile.TemporaryFile() as file:
            for fd in (read, write, this.fileno(), null, epoll.fileno(), file.fileno()):
                for request in (vu.SET_VRING_KICK, vu.SET_VRING_CALL, vu.SET_VRING_ERR):
                    with self.subTest(fd=os.readlink(f"/proc/self/fd/{fd}"), request=request):
                        d = self.device()
                        d.ring.read(0)
                        d.client.send(request, u64(0), [fd])
                        self.assertTrue(d.client.dropped())
                        self.expect_line(r"client \d+ dropped: kick, call or error descriptor "
                                         "is not an eventfd$")

    def test_config_of_256_bytes(self):
        # SPDK's initiator
        client, _ = self.fresh()
        answer = client.ask(vu.GET_CONFIG, struct.pack("<III", 0, 256, 0) + bytes(256))
        self.assertEqual(len(answer), 268)
        self.assertEqual(struct.unpack_from("<III", answer), (0, 256, 0))
        self.assertEqual(struct.unpack_from("<Q", answer, 12)[0], (16 << 20) // 512)

    def test_config_in_part(self):
        client, _ = self.fresh()
        answer = client.ask(vu.GET_CONFIG, struct.pack("<III", 20, 4, 0) + bytes(4))
        self.assertEqual(answer[12:], struct.pack("<I", 512))

    def test_write_cache_is_switched(self):
        client, _ = self.fresh(features=vu.FEATURES | vu.F_FLUSH)
        client.tell(vu.SET_CONFIG, struct.pack("<III", 32, 1, 0) + b"\0")
        answer = client.ask(vu.GET_CONFIG, struct.pack("<III", 32, 1, 0) + b"\0")
        self.assertEqual(answer[12:], b"\0")

    def test_write_cache_is_off_without_flush(self):
        # Firmware has none; the system it starts has, on the same connection.
        client, _ = self.fresh()
        for features, wce in ((vu.FEATURES, b"\0"), (vu.FEATURES | vu.F_FLUSH, b"\1")):
            client.tell(vu.SET_FEATURES, u64(features))
            answer = client.ask(vu.GET_CONFIG, struct.pack("<III", 32, 1, 0) + b"\0")
            self.assertEqual(answer[12:], wce)

    def test_direct_chains_and_flush(self):
        d = self.device(features=vu.FEATURES)
        pattern = bytes(range(256)) * 16
        place = d.ring.data + 4096
        d.memory.map[place:place + 4096] = pattern
        # A sector the good client does not look at
        d.ring.request(vu.OUT, 20000, 4096)
        d.ring.wait()
        self.assertEqual(d.ring.status(), vu.OK)
        d.ring.request(vu.FLUSH, 0, 0)
        d.ring.wait()
        self.assertEqual(d.ring.status(), vu.OK)
        d.memory.map[place:place + 4096] = bytes(4096)
        self.assertEqual(d.ring.read(20000, 4096), pattern)

    def test_unknown_request_type(self):
        d = self.device()
        d.ring.request(77, 0, 512)
        d.ring.wait()
        self.assertEqual(d.ring.status(), vu.UNSUPP)
        d.ring.request(vu.IN, 1 << 40, 512)
        d.ring.wait()
        self.assertEqual(d.ring.status(), vu.IOERR)
        d.ring.read(0)

    def test_all_queues_at_once(self):
        memory = Memory()
        client = Client(self.target.socket)
        rings = [Ring(memory, at=i << 16) for i in range(client.ask_u64(vu.GET_QUEUE_NUM))]
        for thing in (memory, client, *rings):
            self.addCleanup(thing.close)
        self.assertEqual(len(rings), 8)
        client.negotiate()
        client.share(memory)
        for i, ring in enumerate(rings):
            client.start(ring, i)
        for i in range(20):
            for ring in rings:
                ring.request(vu.IN, i, 512)
            for ring in rings:
                ring.wait()
                self.assertEqual(ring.status(), vu.OK)


class HabitsPolled(Habits):
    options = ("--poll", "busy", "--iothreads", "2")


if __name__ == "__main__":
    bench.main()
