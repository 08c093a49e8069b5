# SPDX-License-Identifier: GPL-2.0-only
"""Small NBD servers that can be told to misbehave: bad_server.py DIR

stdin has a line for each: the name of its socket in DIR, and words NAME=VALUE:

size=BYTES flags=NAME,... structured=0|1 min=BYTES max=BYTES: what it offers
after=N: how many requests it answers properly before it does act=
act=NAME: what it does then, a function act_NAME below
times=N: how many times; after that it answers properly again
clients=N: how many it serves at a time; the others wait
"""

import os
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
import nbd_client as nbd  # noqa: E402

FLAGS = {"flush": nbd.SEND_FLUSH, "fua": nbd.SEND_FUA, "trim": nbd.SEND_TRIM,
         "zeroes": nbd.SEND_WRITE_ZEROES, "multi": nbd.CAN_MULTI_CONN, "ro": nbd.READ_ONLY}
OPTIONS = {"size": str(16 << 20), "flags": "flush,fua,trim,zeroes,multi", "structured": "1",
           "min": "0", "max": "0", "after": "0", "act": "answer", "times": str(1 << 40), "clients": "64"}

# Between the bytes of a server that dribbles, in seconds.
DRIBBLE = 0.3


def simple(cookie, error=0, data=b""):
    return struct.pack(">IIQ", nbd.SIMPLE_REPLY, error, cookie) + data


def chunk(cookie, kind, payload=b"", flags=nbd.DONE):
    return struct.pack(">IHHQI", nbd.STRUCTURED_REPLY, flags, kind, cookie, len(payload)) + payload


def content(offset, data):
    return struct.pack(">Q", offset) + data


class Gone(Exception):
    """The client has left, or is to be left."""


class Session:
    """One client."""

    def __init__(self, server, sock):
        self.server = server
        self.sock = sock
        self.structured = False

    def take(self, n):
        data = b""
        while len(data) < n:
            piece = self.sock.recv(n - len(data))
            if not piece:
                raise Gone
            data += piece
        return data

    def send(self, data):
        self.sock.sendall(data)

    def option_reply(self, option, kind, data=b""):
        self.send(struct.pack(">QIII", nbd.OPTION_REPLY, option, kind, len(data)) + data)

    def handshake(self):
        server = self.server
        greeting = struct.pack(">QQH", nbd.NBDMAGIC, nbd.IHAVEOPT, nbd.FIXED_NEWSTYLE | nbd.NO_ZEROES)
        if server.act == "no_greeting":
            threading.Event().wait()
        if server.act == "dribble_handshake":
            self.dribble(greeting)
        self.send(greeting)
        if server.act == "leave_handshake":
            raise Gone
        self.take(4)
        while True:
            _, option, n = struct.unpack(">QII", self.take(16))
            self.take(n)
            if option == nbd.OPT_STRUCTURED_REPLY and server.structured:
                self.structured = True
                self.option_reply(option, nbd.REP_ACK)
            elif option == nbd.OPT_GO:
                while server.act == "flood_handshake":
                    self.option_reply(option, nbd.REP_INFO, struct.pack(">H4s", 2, b"word"))
                self.option_reply(option, 3, struct.pack(">HQH", 0, server.size, server.flags))
                if server.max:
                    self.option_reply(option, 3, struct.pack(
                        ">HIII", nbd.INFO_BLOCK_SIZE, server.min, max(server.min, 512), server.max))
                self.option_reply(option, nbd.REP_ACK)
                return
            else:
                self.option_reply(option, nbd.REP_ERR_UNSUP)

    def serve(self):
        self.handshake()
        while True:
            _, flags, kind, cookie, offset, n = struct.unpack(">IHHQQI", self.take(28))
            if kind == nbd.DISC:
                raise Gone
            if self.server.count():
                self.answer(flags, kind, cookie, offset, n)
            else:
                getattr(self, "act_" + self.server.act)(flags, kind, cookie, offset, n)

    def execute(self, kind, offset, n):
        """What a good server does; returns the data of a read."""
        disk = self.server.disk
        if kind == nbd.WRITE:
            disk[offset:offset + n] = self.take(n)
        elif kind in (nbd.TRIM, nbd.WRITE_ZEROES):
            disk[offset:offset + n] = bytes(n)
        elif kind == nbd.READ:
            return bytes(disk[offset:offset + n])
        return b""

    def answer(self, _flags, kind, cookie, offset, n):
        assert kind != nbd.READ or not self.server.max or n <= self.server.max, "too large"
        data = self.execute(kind, offset, n)
        self.send(self.read_reply(cookie, offset, data) if kind == nbd.READ else simple(cookie))

    def read_reply(self, cookie, offset, data):
        if self.structured:
            return chunk(cookie, nbd.OFFSET_DATA, content(offset, data))
        return simple(cookie, data=data)

    def half(self, cookie, offset, n):
        """A reply to a read, up to the middle of its data."""
        self.send(self.read_reply(cookie, offset, bytes(n))[:-(n // 2)])

    act_answer = answer
    act_no_greeting = act_leave_handshake = act_dribble_handshake = act_flood_handshake = None

    # Replies that belong to no request

    def act_cookie(self, flags, kind, cookie, offset, n):
        self.answer(flags, kind, cookie ^ 1 << 40, offset, n)

    def act_cookie_large(self, _flags, _kind, _cookie, _offset, _n):
        self.send(chunk(0x7fffffff, nbd.NONE))

    def act_twice(self, flags, kind, cookie, offset, n):
        self.answer(flags, kind, cookie, offset, n)
        if kind != nbd.WRITE:
            self.answer(flags, kind, cookie, offset, n)

    # Replies that are none

    def act_magic(self, _flags, _kind, _cookie, _offset, _n):
        self.send(bytes(64))

    def act_truncate(self, _flags, _kind, cookie, offset, n):
        self.half(cookie, offset, n)
        raise Gone

    def act_truncate_header(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, nbd.NONE)[:10])
        raise Gone

    def act_leave(self, _flags, _kind, _cookie, _offset, _n):
        raise Gone

    def act_silence(self, _flags, kind, _cookie, offset, n):
        self.execute(kind, offset, n)

    def dribble(self, data):
        for at in range(len(data)):
            self.send(data[at:at + 1])
            time.sleep(DRIBBLE)

    def act_dribble(self, _flags, kind, cookie, offset, n):
        data = self.execute(kind, offset, n)
        self.dribble(self.read_reply(cookie, offset, data) if kind == nbd.READ else simple(cookie))

    def act_flood(self, _flags, kind, cookie, offset, n):
        """Errors without end."""
        self.execute(kind, offset, n)
        while True:
            self.send(100 * chunk(cookie, nbd.ERROR, struct.pack(">IH", nbd.EIO, 0), 0))

    def act_skip(self, _flags, kind, cookie, offset, n):
        """An error that says more than anybody wants to read: 32 MiB."""
        self.execute(kind, offset, n)
        self.send(struct.pack(">IHHQI", nbd.STRUCTURED_REPLY, 0, 0x8042, cookie, 32 << 20) +
                  struct.pack(">IH", nbd.EIO, 0))
        self.dribble(bytes(1 << 20))

    def act_silence_midway(self, _flags, _kind, cookie, offset, n):
        self.half(cookie, offset, n)
        self.take(1 << 30)

    # Errors, all proper

    def act_simple_error(self, _flags, kind, cookie, offset, n):
        self.execute(kind, offset, n)
        self.send(simple(cookie, nbd.EIO))

    def act_early_error(self, _flags, kind, cookie, offset, n):
        """Answers before it takes what it is sent."""
        self.send(simple(cookie, nbd.EIO))
        self.execute(kind, offset, n)

    def error(self, cookie, kind, error, message=b"", tail=b""):
        self.send(chunk(cookie, kind, struct.pack(">IH", error, len(message)) + message + tail))

    def act_error(self, _flags, kind, cookie, offset, n):
        self.execute(kind, offset, n)
        self.error(cookie, nbd.ERROR, nbd.ENOSPC, b"no more\x1b[31m room")

    def act_error_offset(self, _flags, kind, cookie, offset, n):
        self.execute(kind, offset, n)
        if kind == nbd.READ and n > 512:
            self.send(chunk(cookie, nbd.OFFSET_DATA, content(offset, bytes(512)), 0))
        self.error(cookie, nbd.ERROR_OFFSET, nbd.EIO, b"scratched", struct.pack(">Q", offset + 512))

    def act_error_unknown(self, _flags, kind, cookie, offset, n):
        """A type and a number that nobody knows, and more behind them than a buffer holds."""
        self.execute(kind, offset, n)
        self.error(cookie, 0x8042, 12345, b"strange", bytes(100000))

    def act_shutdown(self, _flags, kind, cookie, offset, n):
        self.execute(kind, offset, n)
        self.error(cookie, nbd.ERROR, 108)

    # Reads in chunks of all kinds, all proper

    def act_pieces(self, flags, kind, cookie, offset, n):
        """Backwards, a hole where there are zeroes, the end on its own."""
        if kind != nbd.READ:
            self.answer(flags, kind, cookie, offset, n)
            return
        data = self.execute(kind, offset, n)
        for at in reversed(range(0, n, 1000)):
            piece = data[at:at + 1000]
            if any(piece):
                self.send(chunk(cookie, nbd.OFFSET_DATA, content(offset + at, piece), 0))
            else:
                self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset + at, len(piece)), 0))
        self.send(chunk(cookie, nbd.NONE))

    def act_bytes(self, flags, kind, cookie, offset, n):
        """Every reply arrives in tiny pieces."""
        sock = self.sock
        whole = b""

        class Catch:
            def sendall(self, data):
                nonlocal whole
                whole += data
        self.sock = Tee(sock, Catch())
        self.act_pieces(flags, kind, cookie, offset, n)
        self.sock = sock
        for at in range(0, len(whole), 7):
            sock.sendall(whole[at:at + 7])

    # Chunks that are wrong

    def act_short(self, _flags, _kind, cookie, offset, n):
        self.send(chunk(cookie, nbd.OFFSET_DATA, content(offset, bytes(n - 1))))

    def act_outside(self, _flags, _kind, cookie, offset, n):
        self.send(chunk(cookie, nbd.OFFSET_DATA, content(offset + 1, bytes(n))))

    def act_before(self, _flags, _kind, cookie, offset, n):
        self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset - 1, 1)))

    def act_hole_huge(self, _flags, _kind, cookie, offset, n):
        self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset, 0xffffffff)))

    def act_overlap(self, _flags, _kind, cookie, offset, n):
        for _ in range(2):
            self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset, n - 1), 0))

    def parts(self, cookie, offset, n, places):
        """Content, and the end: for each of PLACES that many a quarter of the read."""
        size = n // 4
        for place in places:
            self.send(chunk(cookie, nbd.OFFSET_DATA, content(offset + place * size, bytes(size)), 0))
        self.send(chunk(cookie, nbd.NONE))

    def act_half_twice(self, _flags, _kind, cookie, offset, n):
        self.parts(cookie, offset, n, [0, 1, 0, 1])

    def act_end_twice(self, _flags, _kind, cookie, offset, n):
        self.parts(cookie, offset, n, [3, 3, 1, 0])

    def act_gap(self, _flags, _kind, cookie, offset, n):
        self.parts(cookie, offset, n, [3, 1, 0])

    def act_shifted(self, _flags, _kind, cookie, offset, n):
        """As many bytes as were asked for, in chunks that overlap by one, and one left out."""
        half = n // 2
        self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset + half - 1, half), 0))
        self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">QI", offset, half)))

    def act_hole_length(self, _flags, _kind, cookie, offset, n):
        self.send(chunk(cookie, nbd.OFFSET_HOLE, struct.pack(">Q", offset)))

    def act_data_length(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, nbd.OFFSET_DATA, b"1234"))

    def act_none_length(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, nbd.NONE, b"1234"))

    def act_unknown(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, 7, b"1234"))

    def act_error_zero(self, _flags, _kind, cookie, _offset, _n):
        self.error(cookie, nbd.ERROR, 0)

    def act_error_length(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, nbd.ERROR, struct.pack(">IH", 5, 100)))

    def act_error_message(self, _flags, _kind, cookie, _offset, _n):
        self.error(cookie, nbd.ERROR, 5, bytes(5000))

    def act_unasked(self, _flags, _kind, cookie, _offset, _n):
        self.send(chunk(cookie, nbd.NONE))

    def act_simple_read(self, _flags, kind, cookie, offset, n):
        self.send(simple(cookie, data=self.execute(kind, offset, n)))


class Tee:
    """A socket whose output goes elsewhere."""

    def __init__(self, sock, out):
        self.recv = sock.recv
        self.sendall = out.sendall


class Server:
    def __init__(self, options):
        self.size = int(options["size"])
        self.flags = nbd.HAS_FLAGS | sum(FLAGS[name] for name in options["flags"].split(",") if name)
        self.structured = options["structured"] == "1"
        self.min, self.max = int(options["min"]), int(options["max"])
        self.act = options["act"]
        getattr(Session, "act_" + self.act)
        self.good = int(options["after"])
        self.bad = int(options["times"])
        self.clients = threading.Semaphore(int(options["clients"]))
        self.disk = bytearray(self.size)
        self.lock = threading.Lock()

    def count(self):
        """Whether the next request shall be answered properly."""
        with self.lock:
            self.good -= 1
            if self.good >= 0:
                return True
            self.bad -= 1
            return self.bad < 0

    def session(self, sock):
        with self.clients, sock:
            try:
                Session(self, sock).serve()
            except (Gone, OSError):
                pass


def serve(listener, words):
    options = dict(OPTIONS)
    for word in words:
        name, value = word.split("=")
        assert name in options, name
        options[name] = value
    server = Server(options)
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=server.session, args=(sock,), daemon=True).start()


def main():
    threads = []
    for line in sys.stdin:
        name, *words = line.split()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(sys.argv[1], name))
        listener.listen()
        threads.append(threading.Thread(target=serve, args=(listener, words), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
