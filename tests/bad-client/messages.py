#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A client that sends what the protocol does not allow is dropped, and only that one."""

import contextlib
import os
import struct

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Memory, u64, state


class Messages(bench.BadClientTest):
    @contextlib.contextmanager
    def refused(self, pattern):
        """What the body sends on a fresh connection gets it dropped."""
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        yield client
        self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(rf"^client \d+ dropped: {pattern}$")
        client.close()
        self.check_new_client()

    def refused_message(self, pattern, request, payload=b"", fds=(), **options):
        with self.refused(pattern) as client:
            client.send(request, payload, fds, **options)

    # The message itself

    def test_unknown_request(self):
        self.refused_message(r"unknown request \(99\): .*", 99)

    def test_request_0(self):
        self.refused_message(r"unknown request \(0\): .*", 0)

    def test_request_not_offered(self):
        # SET_LOG_BASE goes with a protocol feature the target does not have
        self.refused_message(r"unknown request \(6\): .*", 6, u64(0))

    def test_refusal_is_acknowledged(self):
        with self.refused(r"unknown request \(99\): .*") as client:
            client.tell_protocol()
            client.send(99, flags=vu.VERSION | vu.NEED_REPLY)
            self.assertNotEqual(client.receive()[2], u64(0))

    def test_other_version(self):
        self.refused_message("bad message: .*", vu.GET_FEATURES, flags=2)

    def test_payload_too_large(self):
        self.refused_message("bad message: .*", vu.SET_OWNER, size=100000)

    def test_payload_of_4_gib(self):
        self.refused_message("bad message: .*", vu.SET_OWNER, size=0xFFFFFFFF)

    def test_payload_too_short(self):
        for request, need in ((vu.SET_FEATURES, 8), (vu.SET_MEM_TABLE, 8), (vu.SET_VRING_NUM, 8),
                              (vu.SET_VRING_ADDR, 40), (vu.SET_VRING_BASE, 8),
                              (vu.GET_VRING_BASE, 8), (vu.SET_VRING_KICK, 8),
                              (vu.SET_VRING_CALL, 8), (vu.SET_VRING_ERR, 8),
                              (vu.SET_PROTOCOL_FEATURES, 8), (vu.SET_VRING_ENABLE, 8),
                              (vu.GET_CONFIG, 12), (vu.SET_CONFIG, 12), (vu.ADD_MEM_REG, 40),
                              (vu.REM_MEM_REG, 40)):
            with self.subTest(request=request):
                self.refused_message(r"[A-Z_]+ \(\d+\): Message too long", request,
                                     bytes(need - 1))

    def test_too_many_fds(self):
        with open("/dev/null", "rb") as f:
            self.refused_message("message with too many descriptors", vu.SET_MEM_TABLE,
                                 state(9, 0), [f.fileno()] * 9)

    def test_most_fds_a_message_can_bring(self):
        with open("/dev/null", "rb") as f:
            self.refused_message("message with too many descriptors", vu.SET_OWNER, b"",
                                 [f.fileno()] * 253)

    def test_fds_with_a_message_that_takes_none(self):
        with open("/dev/null", "rb") as f:
            self.refused_message(r"SET_OWNER \(3\): Too many open files", vu.SET_OWNER, b"",
                                 [f.fileno()] * 3)

    def test_nothing_but_noise(self):
        with self.refused("bad message: .*") as client:
            client.send_raw(b"GET / HTTP/1.1\r\n\r\n")

    # Features

    def test_unknown_feature(self):
        self.refused_message(r"SET_FEATURES \(2\): .*", vu.SET_FEATURES,
                             u64(vu.FEATURES | 1 << 33))

    def test_unknown_protocol_feature(self):
        self.refused_message(r"SET_PROTOCOL_FEATURES \(16\): .*", vu.SET_PROTOCOL_FEATURES,
                             u64(vu.PROTOCOL | 1 << 11))

    # Memory

    def refused_table(self, *regions, count=None, fds=None, errno=".*"):
        memory = Memory()
        self.addCleanup(memory.close)
        table = [memory.region(**changes) for changes in regions]
        count = len(table) if count is None else count
        fds = len(table) if fds is None else fds
        self.refused_message(rf"SET_MEM_TABLE \(5\): {errno}", vu.SET_MEM_TABLE,
                             struct.pack("<II", count, 0) + b"".join(table), [memory.fd] * fds)

    def test_overlapping_regions(self):
        self.refused_table({}, {"user": 1 << 32}, errno="File exists")

    def test_regions_overlap_by_a_byte(self):
        self.refused_table({"size": 4097}, {"user": 1 << 32, "guest": 0x101000, "size": 4096})

    def test_regions_overlap_in_the_front_end(self):
        self.refused_table({}, {"guest": 1 << 32}, errno="File exists")

    def test_more_regions_than_fds(self):
        self.refused_table({}, {"guest": 1 << 32, "user": 1 << 32}, fds=1)

    def test_fewer_regions_than_fds(self):
        self.refused_table({}, fds=2)

    def test_region_without_fd(self):
        self.refused_table({}, fds=0)

    def test_more_regions_than_in_the_payload(self):
        self.refused_table({}, count=2, fds=2)

    def test_too_many_regions(self):
        self.refused_table({}, count=0xFFFFFFFF)

    def test_region_larger_than_its_file(self):
        self.refused_table({"size": (1 << 20) + 1})

    def test_region_behind_its_file(self):
        self.refused_table({"offset": 4096})

    def test_empty_region(self):
        self.refused_table({"size": 0})

    def test_region_that_wraps(self):
        self.refused_table({"guest": (1 << 64) - 4096})

    def test_offset_that_wraps(self):
        self.refused_table({"offset": (1 << 64) - 4096})

    def test_region_of_a_pipe(self):
        r, w = os.pipe()
        self.addCleanup(os.close, r)
        self.addCleanup(os.close, w)
        memory = Memory()
        self.addCleanup(memory.close)
        self.refused_message(r"SET_MEM_TABLE \(5\): .*", vu.SET_MEM_TABLE,
                             state(1, 0) + memory.region(), [r])

    def test_read_only_memory(self):
        memory = Memory()
        self.addCleanup(memory.close)
        fd = os.open(f"/proc/self/fd/{memory.fd}", os.O_RDONLY)
        self.addCleanup(os.close, fd)
        self.refused_message(r"SET_MEM_TABLE \(5\): .*", vu.SET_MEM_TABLE,
                             state(1, 0) + memory.region(), [fd])

    def test_add_region_without_fd(self):
        self.refused_message(r"ADD_MEM_REG \(37\): .*", vu.ADD_MEM_REG, bytes(40))

    def test_add_region_that_overlaps(self):
        memory = Memory()
        self.addCleanup(memory.close)
        with self.refused(r"ADD_MEM_REG \(37\): File exists") as client:
            for _ in range(2):
                client.send(vu.ADD_MEM_REG, u64(0) + memory.region(), [memory.fd])

    def test_remove_region_that_is_not_there(self):
        memory = Memory()
        self.addCleanup(memory.close)
        with self.refused(r"REM_MEM_REG \(38\): .*") as client:
            client.send(vu.ADD_MEM_REG, u64(0) + memory.region(), [memory.fd])
            client.send(vu.REM_MEM_REG, u64(0) + memory.region(guest=4096))

    def test_more_regions_than_slots(self):
        memory = Memory()
        self.addCleanup(memory.close)
        with self.refused(r"ADD_MEM_REG \(37\): No space left on device") as client:
            for i in range(client.ask_u64(vu.GET_MAX_MEM_SLOTS) + 1):
                client.send(vu.ADD_MEM_REG, u64(0) + memory.region(guest=i << 24, user=i << 24),
                            [memory.fd])

    # Rings

    def test_queue_index_out_of_range(self):
        fd = os.eventfd(0)
        self.addCleanup(os.close, fd)
        for request, payload, fds in (
                (vu.SET_VRING_NUM, state(8, 16), []), (vu.SET_VRING_BASE, state(8, 0), []),
                (vu.GET_VRING_BASE, state(8, 0), []), (vu.SET_VRING_ENABLE, state(8, 1), []),
                (vu.SET_VRING_ADDR, state(8, 0) + bytes(32), []),
                (vu.SET_VRING_NUM, state(0xFFFFFFFF, 16), []),
                (vu.SET_VRING_KICK, u64(8), [fd]), (vu.SET_VRING_CALL, u64(255), [fd]),
                (vu.SET_VRING_ERR, u64(8), [fd])):
            with self.subTest(request=request):
                self.refused_message(r"[A-Z_]+ \(\d+\): Invalid argument", request, payload, fds)

    def test_queue_size(self):
        for size in (0, 3, 1023, 2048, 65536, 0x80000000, 0xFFFFFFFF):
            with self.subTest(size=size):
                self.refused_message(r"SET_VRING_NUM \(8\): Invalid argument", vu.SET_VRING_NUM,
                                     state(0, size))

    def test_base_out_of_range(self):
        self.refused_message(r"SET_VRING_BASE \(10\): .*", vu.SET_VRING_BASE, state(0, 65536))

    def test_kick_without_fd(self):
        self.refused_message(r"SET_VRING_KICK \(12\): .*", vu.SET_VRING_KICK, u64(0))

    def test_kick_by_polling(self):
        self.refused_message(r"SET_VRING_KICK \(12\): .*", vu.SET_VRING_KICK, u64(0x100))

    def refused_ring(self, pattern, **changes):
        memory = Memory()
        ring = vu.Ring(memory)
        self.addCleanup(memory.close)
        self.addCleanup(ring.close)
        for name in ("kick", "call"):
            if name in changes:
                os.dup2(changes.pop(name), getattr(ring, name))
        addresses = ring.addresses(**changes)
        ring.addresses = lambda index: addresses
        with self.refused(pattern) as client:
            client.negotiate()
            client.share(memory)
            try:
                client.start(ring)
            except (AssertionError, EOFError):
                pass

    def test_ring_outside_the_memory(self):
        for part in ("desc", "avail", "used"):
            for address in (0, 0x7F0000000000 + (1 << 20) - 16, (1 << 64) - 16):
                with self.subTest(part=part, address=hex(address)):
                    self.refused_ring(r"SET_VRING_\w+ \(\d+\): Bad address", **{part: address})

    def test_ring_off_its_alignment(self):
        for part, off in (("desc", 8), ("avail", 1), ("used", 2)):
            with self.subTest(part=part):
                self.refused_ring(r"SET_VRING_\w+ \(\d+\): Bad address",
                                  **{part: 0x7F0000000000 + 8192 + off})

    def test_ring_without_memory(self):
        memory = Memory()
        ring = vu.Ring(memory)
        self.addCleanup(memory.close)
        self.addCleanup(ring.close)
        with self.refused(r"SET_VRING_ENABLE \(18\): Bad address") as client:
            client.negotiate()
            with self.assertRaises(AssertionError):
                client.start(ring)

    def test_kick_fd_is_a_file(self):
        with open(__file__, "rb") as f:
            self.refused_ring("kick, call or error descriptor is not an eventfd", kick=f.fileno())

    def test_memory_taken_from_under_a_ring(self):
        other = Memory(user=0x1000000)
        self.addCleanup(other.close)
        with self.dropped(r"^client \d+ dropped: SET_MEM_TABLE \(5\): Bad address$") as d:
            with self.assertRaises(AssertionError):
                d.client.share(other)

    # Configuration

    def config(self, offset, size, data=b""):
        return struct.pack("<III", offset, size, 0) + data

    def test_config_out_of_range(self):
        for offset, size in ((256, 1), (1, 256), (0, 257), (0xFFFFFFFF, 2), (2, 0xFFFFFFFF)):
            with self.subTest(offset=offset, size=size):
                self.refused_message(r"GET_CONFIG \(24\): Invalid argument", vu.GET_CONFIG,
                                     self.config(offset, size, bytes(min(size, 256))))

    def test_config_shorter_than_it_says(self):
        self.refused_message(r"GET_CONFIG \(24\): Invalid argument", vu.GET_CONFIG,
                             self.config(0, 60, bytes(59)))

    def test_write_to_read_only_config(self):
        self.refused_message(r"SET_CONFIG \(25\): Invalid argument", vu.SET_CONFIG,
                             self.config(0, 8, bytes(8)))


if __name__ == "__main__":
    bench.main()
