#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Records of requests in flight that a client may give the target, and packed rings."""

import os
import struct

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Memory, Ring, inflight, u64

SPLIT_BYTES = 320                   # a record for 16 entries, on whole cache lines
PACKED_BYTES = 576
UNCLEAN = r"SET_VRING_ENABLE \(18\): Structure needs cleaning"


class Record:
    """Memory for a record, as GET_INFLIGHT_FD would have given it."""

    def __init__(self, size, content=b""):
        self.fd = os.memfd_create("record")
        os.ftruncate(self.fd, size)
        os.pwrite(self.fd, content, 0)

    def __enter__(self):
        return self.fd

    def __exit__(self, *exc):
        os.close(self.fd)


class Inflight(bench.BadClientTest):
    def client(self, features=vu.FEATURES):
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        client.send(vu.SET_PROTOCOL_FEATURES, u64(vu.PROTOCOL | vu.PROTOCOL_INFLIGHT))
        client.tell(vu.SET_OWNER)
        client.tell(vu.SET_FEATURES, u64(features))
        return client

    def refused(self, pattern, request, payload, fds=()):
        client = self.client()
        client.send(request, payload, fds)
        self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(rf"client \d+ dropped: {pattern}$")
        client.close()

    def start(self, features, content, fill=None):
        """A client with a ring and a record of this content; its ring when it runs."""
        packed = features & vu.F_PACKED
        client, memory = self.client(features), Memory()
        self.addCleanup(memory.close)
        ring = Ring(memory)
        self.addCleanup(ring.close)
        if fill:
            fill(ring)
        size = PACKED_BYTES if packed else SPLIT_BYTES
        with Record(size, content) as fd:
            client.tell(vu.SET_INFLIGHT_FD, inflight(size), [fd])
        client.share(memory)
        client.tell(vu.SET_VRING_NUM, vu.state(0, 16))
        client.tell(vu.SET_VRING_BASE, vu.state(0, 0x80008000 if packed else 0))
        client.tell(vu.SET_VRING_ADDR, ring.addresses(0))
        client.tell(vu.SET_VRING_CALL, u64(0), [ring.call])
        client.tell(vu.SET_VRING_KICK, u64(0), [ring.kick])
        client.send(vu.SET_VRING_ENABLE, vu.state(0, 1))
        return client, ring

    def bad_record(self, features, content, pattern=UNCLEAN, fill=None):
        client, _ = self.start(features, content, fill)
        self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(rf"client \d+ dropped: {pattern}$")
        client.close()

    # Messages

    def test_answer(self):
        client = self.client()
        size, offset, queues, entries = struct.unpack_from(
            "<QQHH", client.ask(vu.GET_INFLIGHT_FD, inflight(0, queues=1, queue_size=128)))
        self.assertGreaterEqual(size, 16 + 16 * 128)
        self.assertEqual((offset, queues, entries), (0, 1, 128))
        client.close()

    def test_larger_rings(self):
        """QEMU 10 names fewer entries than its rings have: the next device finds each record all the same."""
        client, memory = self.client(), Memory()
        self.addCleanup(memory.close)
        client.send(vu.GET_INFLIGHT_FD, inflight(0, queues=2, queue_size=16))
        data, rights, _, _ = client.sock.recvmsg(64, 64)
        answer = data[12:]
        [fd] = struct.unpack("<i", rights[0][2])
        self.addCleanup(os.close, fd)
        size = struct.unpack_from("<Q", answer)[0]
        # Request 99 of the second queue was taken in by a device that is no more.
        record = size // 2
        os.pwrite(fd, struct.pack("<QHHHH", 0, 1, 128, 0, 0), record)
        os.pwrite(fd, struct.pack("<B5xHQ", 1, 0, 0), record + 16 + 16 * 99)

        client.tell(vu.SET_INFLIGHT_FD, answer, [fd])
        client.share(memory)
        ring = Ring(memory, 128)
        self.addCleanup(ring.close)
        ring.request(vu.IN, 0, 512, slot=33, kick=False)
        client.start(ring, index=1)
        self.assertEqual(ring.wait(), 99)
        self.assertEqual(ring.status(33), vu.OK)
        ring.read(0)
        client.close()

    def test_get_nothing(self):
        for change in ({"queues": 0}, {"queue_size": 0}, {"queues": 65535}, {"queue_size": 65535}):
            with self.subTest(**change):
                self.refused(r"GET_INFLIGHT_FD \(31\): Invalid argument", vu.GET_INFLIGHT_FD,
                             inflight(0, **change))

    def test_set_wrong(self):
        with Record(4096) as fd:
            for change in ({"size": 0}, {"size": SPLIT_BYTES - 1}, {"offset": 4}, {"queues": 0},
                           {"queue_size": 0}, {"queues": 65535}, {"size": 8192},
                           {"offset": 4096}, {"offset": 2**64 - 8}, {"queue_size": 1024}):
                with self.subTest(**change):
                    message = {"size": 4096, **change}
                    self.refused(r"SET_INFLIGHT_FD \(32\): .*", vu.SET_INFLIGHT_FD,
                                 inflight(**message), [fd])

    def test_set_without_memory(self):
        self.refused(r"SET_INFLIGHT_FD \(32\): .*", vu.SET_INFLIGHT_FD, inflight(4096))

    def test_set_a_pipe(self):
        r, w = os.pipe()
        self.refused(r"SET_INFLIGHT_FD \(32\): .*", vu.SET_INFLIGHT_FD, inflight(4096), [w])
        os.close(r)
        os.close(w)

    def test_too_short(self):
        self.refused(r"SET_INFLIGHT_FD \(32\): .*", vu.SET_INFLIGHT_FD, inflight(4096)[:19])

    # Records

    def split(self, used_idx=0, last=0, flags=()):
        head = struct.pack("<QHHHH", 0, 1, 16, last, used_idx)
        return head + b"".join(struct.pack("<B5xHQ", i in flags, 0, i) for i in range(16))

    def packed(self, used=0, old=0, wraps=(1, 1), free=16, entries=()):
        head = struct.pack("<QHHHHHHBB7x3x", 0, 1, 16, free, free, used, old, *wraps)[:32]
        return head + b"".join(struct.pack("<BxHHHQHHIQ", *e) for e in entries)

    def test_split_batch_too_long(self):
        self.bad_record(vu.FEATURES, self.split(used_idx=100))

    def test_split_batch_outside(self):
        self.bad_record(vu.FEATURES, self.split(used_idx=65535, last=16))

    def test_split_left_is_malformed(self):
        """What is left is read like any other request."""
        self.bad_record(vu.FEATURES, self.split(flags={0}), "a descriptor is malformed")

    def test_split_left_is_carried_out(self):
        def fill(ring):
            ring.request(vu.IN, 0, 512, slot=0, kick=False)
        client, ring = self.start(vu.FEATURES, self.split(flags={0}), fill)
        self.assertEqual(ring.wait(), 0)
        self.assertEqual(ring.status(), vu.OK)
        client.close()

    def test_packed_index_outside(self):
        features = vu.FEATURES | vu.F_PACKED
        self.bad_record(features, self.packed(used=16))
        self.bad_record(features, self.packed(old=16))

    def test_packed_lists(self):
        features = vu.FEATURES | vu.F_PACKED
        for name, entry in (("none", (1, 0, 0, 0, 0, 0, 0, 16, 0)),
                            ("too many", (1, 0, 0, 17, 0, 0, 0, 16, 0)),
                            ("a loop", (1, 0, 0, 2, 0, 0, 0, 16, 0)),
                            ("outside", (1, 99, 0, 2, 0, 0, 0, 16, 0))):
            with self.subTest(name):
                self.bad_record(features, self.packed(entries=[entry]))

    def test_packed_left_is_malformed(self):
        self.bad_record(vu.FEATURES | vu.F_PACKED, self.packed(entries=[(1, 0, 0, 1, 0, 0, 0, 0, 0)]),
                        "a descriptor is malformed")

    def test_taken_away(self):
        """The memory of a record goes while its queue runs."""
        client, memory = self.client(), Memory()
        self.addCleanup(memory.close)
        ring = Ring(memory)
        self.addCleanup(ring.close)
        with Record(SPLIT_BYTES) as fd:
            client.tell(vu.SET_INFLIGHT_FD, inflight(SPLIT_BYTES), [fd])
            client.share(memory)
            client.start(ring)
            ring.read(0)
            os.ftruncate(fd, 0)
            ring.request(vu.IN, 0, 512)
            self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(r"client \d+ dropped: shared memory was truncated.*$")
        client.close()

    # Packed rings

    def test_packed_base(self):
        """The answer has the next descriptor for both directions, each with its wrap counter."""
        client, _ = self.start(vu.FEATURES | vu.F_PACKED, b"")
        answer = client.ask(vu.GET_VRING_BASE, vu.state(0, 0))
        self.assertEqual(struct.unpack("<II", answer), (0, 0x80008000))
        client.close()

    def bad_packed(self, why, *descs):
        """Descriptors of (data offset, length, id, flags), made available in the first lap."""
        def fill(ring):
            for i, (offset, length, ident, flags) in enumerate(descs):
                struct.pack_into("<QIHH", ring.m.map, ring.at + 16 * i, ring.guest(offset), length,
                                 ident, flags | 1 << 7)
        self.bad_record(vu.FEATURES | vu.F_PACKED | vu.F_INDIRECT, b"", why, fill)

    def test_packed_rings(self):
        self.bad_packed("a descriptor chain loops", *[(512, 1, 0, vu.NEXT)] * 16)
        self.bad_packed("a descriptor is malformed", (512, 0, 0, 0))
        self.bad_packed("a descriptor is malformed", (512, 16, 0, vu.INDIRECT | vu.NEXT))
        self.bad_packed("a descriptor is malformed", (512, 1, 0, vu.NEXT), (0, 16, 0, vu.INDIRECT))
        self.bad_packed("an address lies outside the shared memory", (1 << 30, 1, 0, 0))
        self.bad_packed("a request has no room for its status", (512, 16, 0, 0))

    def test_packed_base_outside(self):
        client = self.client(vu.FEATURES | vu.F_PACKED)
        memory = Memory()
        self.addCleanup(memory.close)
        ring = Ring(memory)
        self.addCleanup(ring.close)
        client.share(memory)
        client.send(vu.SET_VRING_NUM, vu.state(0, 16))
        client.send(vu.SET_VRING_BASE, vu.state(0, 0x8010))
        client.send(vu.SET_VRING_ADDR, ring.addresses(0))
        client.send(vu.SET_VRING_KICK, u64(0), [ring.kick])
        client.send(vu.SET_VRING_ENABLE, vu.state(0, 1))
        self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(r"client \d+ dropped: SET_VRING_ENABLE \(18\): Numerical result out of range$")
        client.close()

    def test_split_size_for_packed_only(self):
        client = self.client()
        client.send(vu.SET_VRING_NUM, vu.state(0, 100))
        self.assertTrue(client.dropped(), "the client was not dropped")
        self.expect_line(r"client \d+ dropped: SET_VRING_NUM \(8\): Invalid argument$")
        client.close()


if __name__ == "__main__":
    bench.main()
