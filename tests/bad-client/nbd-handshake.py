#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A client that shakes hands wrongly is answered as the protocol says, or dropped alone."""

import struct
import threading
import time

import nbd_bench
import nbd_client as nbd

TIMEOUT_S = 10


class Handshake(nbd_bench.BadClientTest):
    def refused(self, pattern, data, **options):
        """These bytes, after the client's flags, get it dropped."""
        client = self.shake_hands(**options)
        client.send(data)
        self.check_dropped(client, pattern)

    # The bytes themselves

    def test_garbage_for_flags(self):
        for flags in (4, 0x80000000, 0xFFFFFFFF):
            with self.subTest(flags=flags):
                self.check_dropped(self.shake_hands(flags=flags),
                                   f"unknown handshake flags 0x{flags:x}")

    def test_garbage_for_an_option(self):
        self.refused("option does not begin with IHAVEOPT", b"GET / HTTP/1.1\r\n\r\n")

    def test_truncated(self):
        go = struct.pack(">QII", nbd.IHAVEOPT, nbd.OPT_GO, 6) + bytes(6)
        for length in (1, 15, 16, 21):
            with self.subTest(bytes=length):
                client = self.shake_hands()
                client.send(go[:length])
                client.sock.shutdown(nbd.socket.SHUT_WR)
                self.check_dropped(client, "connection closed during the handshake")

    def test_truncated_flags(self):
        client = self.shake_hands(flags=None)
        client.send(b"\0\0")
        client.sock.shutdown(nbd.socket.SHUT_WR)
        self.check_dropped(client, "connection closed during the handshake")

    def test_leaves_between_options(self):
        for flags in (None, 3):
            client = self.shake_hands(flags=flags)
            client.close()
        client = self.shake_hands()
        client.info(nbd.OPT_INFO)
        client.close()
        self.check_new_client()

    def test_option_too_long(self):
        for length in (65537, 1 << 24, 0x80000000, 0xFFFFFFFF):
            with self.subTest(length=length):
                self.refused(f"option 7 has {length} bytes of data",
                             struct.pack(">QII", nbd.IHAVEOPT, nbd.OPT_GO, length))

    def test_longest_option(self):
        client = self.shake_hands()
        self.assertEqual(client.option(77, bytes(65536))[0][0], nbd.REP_ERR_UNSUP)
        client.go()

    def test_plain_newstyle_has_one_option(self):
        self.refused("option 3 needs fixed newstyle",
                     struct.pack(">QII", nbd.IHAVEOPT, nbd.OPT_LIST, 0), flags=0)

    def test_no_such_export(self):
        self.refused("no export of the requested name",
                     struct.pack(">QII", nbd.IHAVEOPT, nbd.OPT_EXPORT_NAME, 5) + b"other")

    # What is answered by an error, after which the client may go on

    def check_refused(self, client, replies, error):
        self.assertEqual([kind for kind, _ in replies], [error])
        client.go()
        client.read(0, 512)

    def test_options_nobody_knows(self):
        for option in (0, 4, nbd.OPT_STARTTLS, 11, 0xFFFFFFFF):
            with self.subTest(option=option):
                client = self.shake_hands()
                self.check_refused(client, client.option(option), nbd.REP_ERR_UNSUP)

    def test_data_where_none_belongs(self):
        for option in (nbd.OPT_LIST, nbd.OPT_STRUCTURED_REPLY):
            with self.subTest(option=option):
                client = self.shake_hands()
                self.check_refused(client, client.option(option, b"x"), nbd.REP_ERR_INVALID)

    def test_malformed_info(self):
        for data in (b"", b"\0\0\0", nbd.string(b""), nbd.string(b"x")[:-1] + b"\0",
                     b"\xff\xff\xff\xff\0\0", nbd.string(bytes(4097)) + b"\0\0",
                     nbd.string(b"") + b"\0\1", nbd.string(b"") + b"\0\0\0\0",
                     nbd.string(b"") + b"\xff\xff" + bytes(510)):
            for option in (nbd.OPT_INFO, nbd.OPT_GO):
                with self.subTest(option=option, data=data[:16]):
                    client = self.shake_hands()
                    self.check_refused(client, client.option(option, data), nbd.REP_ERR_INVALID)

    def test_malformed_context(self):
        query = nbd.string(b"base:allocation")
        for data in (b"", nbd.string(b""), nbd.string(b"")[:3],
                     nbd.string(b"") + struct.pack(">I", 1),
                     nbd.string(b"") + struct.pack(">I", 1) + query[:-1],
                     nbd.string(b"") + struct.pack(">I", 2) + query,
                     nbd.string(b"") + struct.pack(">I", 0) + query,
                     nbd.string(b"") + struct.pack(">I", 0xFFFFFFFF) + query,
                     nbd.string(b"") + struct.pack(">I", 1) + b"\xff\xff\xff\xff"):
            for option in (nbd.OPT_LIST_META_CONTEXT, nbd.OPT_SET_META_CONTEXT):
                with self.subTest(option=option, data=data[:16]):
                    client = self.shake_hands()
                    client.want_structured()
                    self.check_refused(client, client.option(option, data), nbd.REP_ERR_INVALID)
                    # and nothing was selected
                    self.assertEqual(client.do(nbd.BLOCK_STATUS, 0, 512).error, nbd.EINVAL)

    def test_context_before_structured_replies(self):
        client = self.shake_hands()
        self.check_refused(client, client.meta_context(nbd.OPT_SET_META_CONTEXT,
                                                       b"base:allocation"), nbd.REP_ERR_INVALID)

    def test_names_of_no_export(self):
        for option in (nbd.OPT_INFO, nbd.OPT_GO):
            client = self.shake_hands()
            self.check_refused(client, client.info(option, b"other"), nbd.REP_ERR_UNKNOWN)
        client = self.shake_hands()
        client.want_structured()
        self.check_refused(client, client.meta_context(nbd.OPT_SET_META_CONTEXT,
                                                       b"base:allocation", name=b"other"),
                           nbd.REP_ERR_UNKNOWN)

    # Time and numbers

    def test_slow_clients(self):
        def drip(client):
            try:
                for byte in struct.pack(">QII", nbd.IHAVEOPT, 77, 20) + bytes(20):
                    client.send(bytes([byte]))
                    time.sleep(0.4)
            except OSError:
                pass

        began = time.monotonic()
        clients = [self.shake_hands(flags=flags, timeout=2 * TIMEOUT_S) for flags in (None, 3, 3)]
        thread = threading.Thread(target=drip, args=clients[2:])
        thread.start()
        for client in clients:
            self.assertTrue(client.dropped())
        self.assertGreater(time.monotonic() - began, TIMEOUT_S - 1)
        self.assertLess(time.monotonic() - began, TIMEOUT_S + 3)
        thread.join()
        for client in clients:
            client.close()
        self.expect_line(r"^client \d+ dropped: handshake timed out$", count=3)
        self.check_new_client()

    def test_replies_that_nobody_reads(self):
        client = self.shake_hands()
        client.sock.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            while True:
                client.send_option(nbd.OPT_LIST)
        with nbd.connect(self.target.socket) as other:
            other.read(0, 512)
        client.close()
        self.assertTrue(nbd_bench.wait_until(lambda: self.target.fds() == self.fds))
        # Both ways of finding out are right: it may be in the middle of an answer.
        for line in self.target.new_lines():
            self.check_line(line, r"^client \d+ dropped: connection closed during the handshake$")

    def test_more_clients_than_places(self):
        # The good client has one of the 256 places.
        clients = [self.connect() for _ in range(255)]
        for client in clients:
            client.read(0, 512)
        for _ in range(5):
            self.assertTrue(self.shake_hands(flags=None).dropped())
        self.expect_line("^client refused on ", count=5)
        for client in clients:
            client.close()
        self.assertTrue(nbd_bench.wait_until(lambda: self.target.fds() == self.fds))
        self.check_new_client()

    def test_a_hundred_in_a_row(self):
        for i in range(100):
            with self.shake_hands() as client:
                if i % 2:
                    client.go()
        self.check_new_client()


if __name__ == "__main__":
    nbd_bench.main()
