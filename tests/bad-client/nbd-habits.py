#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What clients may do and some do: odd, and no reason to drop them."""

import os
import random
import socket
import struct
import threading

import nbd_bench
import nbd_client as nbd


SIZE = 256 << 20


class Habits(nbd_bench.BadClientTest):
    options = ("--size", "256M")

    def test_export_name(self):
        for flags, zeroes in ((0, 124), (nbd.FIXED_NEWSTYLE, 124), (nbd.NO_ZEROES, 0),
                              (nbd.FIXED_NEWSTYLE | nbd.NO_ZEROES, 0)):
            client = self.shake_hands(flags=flags)
            self.assertEqual(client.greeting, (nbd.NBDMAGIC, nbd.IHAVEOPT, 3))
            client.send_option(nbd.OPT_EXPORT_NAME)
            size, flags = struct.unpack(">QH", client.receive(10))
            self.assertEqual(client.receive(zeroes), bytes(zeroes))
            self.assertEqual(size, SIZE)
            self.assertEqual(flags, nbd.HAS_FLAGS | nbd.SEND_FLUSH | nbd.SEND_FUA | nbd.SEND_TRIM
                             | nbd.SEND_WRITE_ZEROES | nbd.CAN_MULTI_CONN | nbd.SEND_CACHE
                             | nbd.SEND_FAST_ZERO)
            client.read(0, 512)

    def test_abort(self):
        for data in (b"", b"ignored"):
            client = self.shake_hands()
            self.assertEqual(client.option(nbd.OPT_ABORT, data), [(nbd.REP_ACK, b"")])
            self.assertTrue(client.dropped())

    def test_infos_as_asked_for(self):
        client = self.shake_hands()
        self.assertEqual(len(client.info(nbd.OPT_INFO)), 2)
        replies = client.info(nbd.OPT_INFO, infos=(nbd.INFO_BLOCK_SIZE, 999, nbd.INFO_NAME,
                                                   nbd.INFO_EXPORT, nbd.INFO_DESCRIPTION))
        infos = dict((struct.unpack(">H", data[:2])[0], data[2:]) for _, data in replies[:-1])
        self.assertEqual(sorted(infos), [0, 1, 2, 3])
        self.assertEqual(struct.unpack(">III", infos[nbd.INFO_BLOCK_SIZE]), (512, 4096, 32 << 20))
        self.assertEqual(infos[nbd.INFO_NAME], b"")
        self.assertIn(b"ram", infos[nbd.INFO_DESCRIPTION])
        client.want_structured()
        client.go()
        self.assertTrue(client.flags & nbd.SEND_DF)

    def test_contexts(self):
        for queries, listed, chosen in (((), True, False), ((b"base:",), True, False),
                                        ((b"base:allocation",), True, True),
                                        ((b"qemu:dirty-bitmap:x", b"base:nothing", b"base"),
                                         False, False),
                                        ((b"x-y:z", b"base:allocation"), True, True),
                                        ((b"base:allocation",) * 50, True, True)):
            client = self.shake_hands()
            client.want_structured()
            for option, there in ((nbd.OPT_LIST_META_CONTEXT, listed),
                                  (nbd.OPT_SET_META_CONTEXT, chosen)):
                replies = client.meta_context(option, *queries)
                names = [data[4:] for kind, data in replies if kind == nbd.REP_META_CONTEXT]
                self.assertEqual(names, [b"base:allocation"] * there, (option, queries))
            client.go()
            error = client.do(nbd.BLOCK_STATUS, 0, 512).error
            self.assertEqual(error, 0 if chosen else nbd.EINVAL)

    def test_last_choice_of_contexts_counts(self):
        client = self.shake_hands()
        client.want_structured()
        client.meta_context(nbd.OPT_SET_META_CONTEXT, b"base:allocation")
        client.meta_context(nbd.OPT_SET_META_CONTEXT)
        client.go()
        self.assertEqual(client.do(nbd.BLOCK_STATUS, 0, 512).error, nbd.EINVAL)

    def test_byte_by_byte(self):
        client = self.shake_hands(flags=None)
        client.receive(18)
        option = struct.pack(">IQII", 3, nbd.IHAVEOPT, nbd.OPT_GO, 6) + bytes(6)
        requests = (nbd.request(nbd.WRITE, 512, 512, data=b"x" * 512)
                    + nbd.request(nbd.READ, 512, 512))
        for i in range(len(option)):
            client.send(option[i:i + 1])
        client.option_reply()
        client.option_reply()
        client.lengths = {1: 0}
        for i in range(len(requests)):
            client.send(requests[i:i + 1])
        self.assertEqual(client.reply().error, 0)
        client.lengths = {1: 512}
        self.assertEqual(client.reply().data, b"x" * 512)

    def test_thousands_at_once(self):
        """More requests than there are slots for, sent before a reply is read."""
        client = self.connect()
        requests = b"".join(nbd.request(nbd.READ, i * 512, 512, cookie=i) for i in range(3000))
        sender = threading.Thread(target=client.send, args=(requests,))
        sender.start()
        client.lengths = {i: 512 for i in range(3000)}
        self.assertEqual({client.reply().cookie for _ in range(3000)}, set(range(3000)))
        sender.join()

    def test_large_requests_at_once(self):
        """More memory than a connection may take, both ways."""
        client = self.connect(structured=True)
        data = os.urandom(8 << 20)
        places = [(2 + i) * len(data) for i in range(12)]
        client.lengths = dict.fromkeys(places, 0)
        requests = b"".join(nbd.request(nbd.WRITE, at, len(data), cookie=at, data=data)
                            for at in places)
        sender = threading.Thread(target=client.send, args=(requests,))
        sender.start()
        for _ in places:
            self.assertEqual(client.reply().error, 0)
        sender.join()
        for at in places:
            client.ask(nbd.READ, at, len(data), cookie=at)
        for _ in places:
            self.assertTrue(client.reply().data == data)

    def test_half_closed(self):
        """Who sends all its requests and then closes that direction gets all replies."""
        client = self.connect()
        client.send(b"".join(nbd.request(nbd.READ, i * 512, 512, cookie=i) for i in range(1000)))
        client.lengths = {i: 512 for i in range(1000)}
        client.sock.shutdown(socket.SHUT_WR)
        self.assertEqual({client.reply().cookie for _ in range(1000)}, set(range(1000)))
        self.assertTrue(client.dropped())

    def test_sizes_and_cuts(self):
        """Writes of all sizes, cut into pieces anywhere, among others that are refused."""
        rng = random.Random(1)
        for structured in (False, True):
            client = self.connect(structured=structured)
            image, stream, place = b"", b"", 16 << 20
            for i in range(100):
                data = rng.randbytes(rng.choice((512, 4096, 12288, 65536, 66048, 131072, 1 << 20)))
                client.lengths[i] = 0
                if rng.random() < 0.1:
                    # The data is to be skipped.
                    stream += nbd.request(nbd.WRITE, 1 << 40, len(data), i, data=data)
                else:
                    stream += nbd.request(nbd.WRITE, place + len(image), len(data), i, data=data)
                    image += data
            sender = threading.Thread(target=self.send_cut, args=(client, stream, rng))
            sender.start()
            for _ in range(100):
                self.assertIn(client.reply().error, (0, nbd.ENOSPC))
            sender.join()
            self.assertTrue(client.read(place, len(image)) == image)

    @staticmethod
    def send_cut(client, stream, rng):
        at = 0
        while at < len(stream):
            length = rng.choice((1, 27, 28, 29, 1000, 30000, 300000))
            client.send(stream[at:at + length])
            at += length

    def test_fua_everywhere(self):
        client = self.connect(context=True)
        for kind in (nbd.READ, nbd.WRITE, nbd.TRIM, nbd.CACHE, nbd.WRITE_ZEROES,
                     nbd.BLOCK_STATUS):
            data = bytes(4096) if kind == nbd.WRITE else b""
            self.assertEqual(client.do(kind, 0, 4096, nbd.FUA, data).error, 0, kind)
        self.assertEqual(client.do(nbd.FLUSH, flags=nbd.FUA).error, 0)

    def test_descriptors_along_with_requests(self):
        """Old kernels let them through, and then nobody keeps them."""
        client = self.connect()
        with open("/dev/null", "rb") as f:
            for _ in range(20):
                request = nbd.request(nbd.READ, 0, 512)
                try:
                    socket.send_fds(client.sock, [request], [f.fileno()] * 100)
                except PermissionError:
                    client.send(request)
                client.lengths[1] = 512
                client.reply()


class HabitsOfPool(Habits):
    """The same with worker threads, where data is copied before it is written."""
    options = ("--size", "256M", "--aio", "threads", "--iothreads", "2")


if __name__ == "__main__":
    nbd_bench.main()
