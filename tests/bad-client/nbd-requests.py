#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A wrong request is answered by an error, or gets its client dropped, and only that one."""

import socket
import struct
import time

import bench
import nbd_bench
import nbd_client as nbd

SIZE = 16 << 20
RANGED = (nbd.READ, nbd.WRITE, nbd.TRIM, nbd.CACHE, nbd.WRITE_ZEROES, nbd.BLOCK_STATUS)


class Requests(nbd_bench.BadClientTest):
    options = ("--block-size", "4096")

    def both(self):
        """A client with simple replies, and one with all there is."""
        return self.connect(), self.connect(context=True)

    def check_error(self, client, error, kind, offset, length, flags=0):
        """A request is refused, the data that comes with it is not taken for a request."""
        data = b"\x25\x60\x95\x13" * (length // 4) if kind == nbd.WRITE else b""
        reply = client.do(kind, offset, length, flags, data, cookie=0xFEDCBA9876543210)
        self.assertEqual(reply.error, error, (kind, offset, length, flags))
        self.assertEqual(reply.data, b"")
        if client.structured:
            self.assertEqual([kind for kind, _ in reply.chunks], [nbd.ERROR])
            self.assertGreater(len(reply.message), 10)
        client.read(0, 4096)

    # Answered by an error

    def test_past_the_end(self):
        errors = {nbd.WRITE: nbd.ENOSPC, nbd.WRITE_ZEROES: nbd.ENOSPC}
        for client in self.both():
            for kind in RANGED if client.structured else RANGED[:-1]:
                for offset, length in ((SIZE, 4096), (SIZE - 4096, 8192), (0, SIZE + 4096),
                                       (1 << 63, 4096), ((1 << 64) - 4096, 4096),
                                       ((1 << 64) - 4096, 8192)):
                    with self.subTest(kind=kind, offset=offset, length=length):
                        self.check_error(client, errors.get(kind, nbd.EINVAL), kind, offset,
                                         length)

    def test_misaligned(self):
        for client in self.both():
            for kind in RANGED if client.structured else RANGED[:-1]:
                for offset, length in ((1, 4096), (512, 4096), (0, 512), (4096, 4100), (0, 1)):
                    with self.subTest(kind=kind, offset=offset, length=length):
                        self.check_error(client, nbd.EINVAL, kind, offset, length)

    def test_nothing_at_all(self):
        for client in self.both():
            for kind in RANGED:
                self.check_error(client, nbd.EINVAL, kind, 0, 0)

    def test_unknown_commands(self):
        for client in self.both():
            for kind in (8, 9, 77, 0xFFFF):
                self.check_error(client, nbd.EINVAL, kind, 0, 4096)

    def test_unknown_flags(self):
        for client in self.both():
            for kind in RANGED if client.structured else RANGED[:-1]:
                for flags in (1 << 5, 1 << 15, nbd.FUA | 1 << 6):
                    self.check_error(client, nbd.EINVAL, kind, 0, 4096, flags)
            self.check_error(client, nbd.EINVAL, nbd.FLUSH, 0, 0, 1 << 7)

    def test_flags_of_other_commands(self):
        for client in self.both():
            for kind, flags in ((nbd.READ, nbd.NO_HOLE), (nbd.WRITE, nbd.DF),
                                (nbd.TRIM, nbd.FAST_ZERO), (nbd.WRITE_ZEROES, nbd.REQ_ONE),
                                (nbd.CACHE, nbd.DF)):
                self.check_error(client, nbd.EINVAL, kind, 0, 4096, flags)

    def test_df_without_structured_replies(self):
        self.check_error(self.connect(), nbd.EINVAL, nbd.READ, 0, 4096, nbd.DF)

    def test_status_without_context(self):
        for structured in (False, True):
            self.check_error(self.connect(structured=structured), nbd.EINVAL, nbd.BLOCK_STATUS,
                             0, 4096)

    def test_flush_of_a_part(self):
        for client in self.both():
            self.check_error(client, nbd.EINVAL, nbd.FLUSH, 0, 4096)
            self.check_error(client, nbd.EINVAL, nbd.FLUSH, 4096, 0)

    def test_read_of_4_gib(self):
        for client in self.both():
            self.check_error(client, nbd.EINVAL, nbd.READ, 0, 0xFFFFF000)
            self.check_error(client, nbd.EINVAL, nbd.READ, 0, 0xFFFFFFFF)

    def test_refused_write_of_32_mib(self):
        for client in self.both():
            self.check_error(client, nbd.ENOSPC, nbd.WRITE, 0, 32 << 20)

    # Dropped

    def test_bad_magic(self):
        for magic in (0, nbd.SIMPLE_REPLY, 0x25609514, 0xFFFFFFFF):
            with self.dropped(f"bad request magic 0x{magic:08x}") as client:
                client.send(nbd.request(nbd.READ, 0, 4096, magic=magic))

    def test_bad_magic_behind_good_requests(self):
        with self.dropped("bad request magic 0x21e41c71") as client:
            client.send(b"".join(nbd.request(nbd.READ, 0, 4096, cookie=i) for i in range(500))
                        + nbd.request(nbd.READ, 0, 4096, magic=0x21E41C71))

    def test_write_of_4_gib(self):
        for length in ((32 << 20) + 1, 1 << 31, 0xFFFFFFFF):
            with self.dropped(f"write of {length} bytes, "
                              f"at most {32 << 20} are accepted") as client:
                client.send(nbd.request(nbd.WRITE, 0, length))

    def test_left_in_a_request(self):
        write = nbd.request(nbd.WRITE, 0, 65536, data=bytes(65536))
        for length in (1, 27, 28, 28 + 1, 28 + 65535):
            with self.dropped("connection closed in the middle of a request") as client:
                client.send(write[:length])
                client.sock.shutdown(socket.SHUT_WR)

    def test_left_in_data_of_a_refused_write(self):
        with self.dropped("connection closed in the middle of a request") as client:
            client.send(nbd.request(nbd.WRITE, SIZE, 65536, data=bytes(100)))
            client.sock.shutdown(socket.SHUT_WR)

    # Left

    def test_hangs_up(self):
        for structured in (False, True):
            for what in (b"", nbd.request(nbd.DISC),
                         b"".join(nbd.request(nbd.READ, 0, 65536, cookie=i) for i in range(200))):
                client = self.connect(structured=structured)
                client.send(what)
                client.close()
                self.check_new_client()

    def test_disconnects(self):
        client = self.connect()
        client.ask(nbd.READ, 0, 4096)
        client.send(nbd.request(nbd.DISC) + b"what is behind does not count")
        self.assertEqual(len(client.reply().data), 4096)
        self.assertTrue(client.dropped())

    def test_replies_that_nobody_reads(self):
        clients = [self.connect() for _ in range(2)]
        for client in clients:
            client.sock.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                while True:
                    client.send(nbd.request(nbd.READ, 0, 1 << 20) * 50)
        # It waits asleep, and holds only so much for each client.
        self.assertTrue(nbd_bench.wait_until(self.sleeps))
        if not bench.SANITIZED:
            self.assertLess(self.resident(), (2 * 80 + 40) << 20)
        with nbd.connect(self.target.socket) as other:
            for _ in range(100):
                other.read(0, 4096)
        # And answers as soon as somebody reads.
        client = clients.pop()
        client.sock.settimeout(5)
        self.assertEqual(client.receive(16), struct.pack(">IIQ", nbd.SIMPLE_REPLY, 0, 1))
        client.receive(1 << 20)
        self.assertEqual(client.receive(16), struct.pack(">IIQ", nbd.SIMPLE_REPLY, 0, 1))

    def resident(self):
        with open(f"/proc/{self.target.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * 4096

    def sleeps(self):
        """Whether it does next to nothing for a while; the good client wants a little."""
        before = self.cpu_seconds()
        time.sleep(0.5)
        return self.cpu_seconds() - before < 0.3

    def cpu_seconds(self):
        with open(f"/proc/{self.target.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


class Delayed(nbd_bench.BadClientTest):
    options = ("--delay", "fixed:300ms")

    def test_leaves_with_requests_in_flight(self):
        for structured in (False, True):
            client = self.connect(structured=structured)
            client.send(b"".join(nbd.request(nbd.READ, 0, 65536, cookie=i) for i in range(300)))
            time.sleep(0.1)
            client.close()
            self.assertTrue(nbd_bench.wait_until(lambda: self.target.fds() == self.fds))
        self.check_new_client()

    def test_misbehaves_with_requests_in_flight(self):
        with self.dropped("bad request magic 0x00000000") as client:
            client.send(nbd.request(nbd.READ, 0, 4096) * 100)
            time.sleep(0.1)
            client.send(bytes(28))

    def test_disconnects_with_requests_in_flight(self):
        client = self.connect()
        for i in range(20):
            client.ask(nbd.READ, i * 4096, 4096, cookie=i)
        client.send(nbd.request(nbd.DISC))
        self.assertEqual({client.reply().cookie for _ in range(20)}, set(range(20)))
        self.assertTrue(client.dropped())


class Pool(Delayed):
    """The same, with requests in the hands of worker threads."""
    options = ("--aio", "threads", "--delay", "fixed:300ms")


class ReadOnly(nbd_bench.BadClientTest):
    options = ("--read-only",)

    # Nothing can be written, so what is there are zeroes.
    class make_good_client(nbd_bench.GoodClient):
        def connect(self, socket):
            return nbd.connect(socket)

        def read(self, number):
            if self.device.read(4096, 4096) != bytes(4096):
                raise AssertionError("something was written")

    def test_writes(self):
        for structured in (False, True):
            client = self.connect(structured=structured)
            self.assertTrue(client.flags & nbd.READ_ONLY)
            self.assertFalse(client.flags & (nbd.SEND_TRIM | nbd.SEND_WRITE_ZEROES))
            for kind in (nbd.WRITE, nbd.TRIM, nbd.WRITE_ZEROES):
                for flags in (0, nbd.FUA):
                    data = b"x" * 65536 if kind == nbd.WRITE else b""
                    self.assertEqual(client.do(kind, 4096, 65536, flags, data).error, nbd.EPERM)
            self.assertEqual(client.do(nbd.FLUSH).error, 0)
            self.assertEqual(client.do(nbd.CACHE, 0, 65536).error, 0)
            client.read(0, 65536)


if __name__ == "__main__":
    nbd_bench.main()
