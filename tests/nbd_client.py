# SPDX-License-Identifier: GPL-2.0-only
"""An NBD client with nothing between it and the wire.

It sends what it is told, well-formed or not, so that tests can play any peer: see
doc/proto.md of the reference implementation.
"""

import socket
import struct

NBDMAGIC = 0x4E42444D41474943
IHAVEOPT = 0x49484156454F5054
OPTION_REPLY = 0x0003E889045565A9
REQUEST = 0x25609513
SIMPLE_REPLY = 0x67446698
STRUCTURED_REPLY = 0x668E33EF

FIXED_NEWSTYLE, NO_ZEROES = 1, 2                    # handshake flags

(HAS_FLAGS, READ_ONLY, SEND_FLUSH, SEND_FUA, ROTATIONAL, SEND_TRIM, SEND_WRITE_ZEROES, SEND_DF,
 CAN_MULTI_CONN, SEND_RESIZE, SEND_CACHE, SEND_FAST_ZERO) = (1 << i for i in range(12))

OPT_EXPORT_NAME = 1
OPT_ABORT = 2
OPT_LIST = 3
OPT_STARTTLS = 5
OPT_INFO = 6
OPT_GO = 7
OPT_STRUCTURED_REPLY = 8
OPT_LIST_META_CONTEXT = 9
OPT_SET_META_CONTEXT = 10

REP_ACK, REP_SERVER, REP_INFO, REP_META_CONTEXT = 1, 2, 3, 4
REP_ERR_UNSUP, REP_ERR_POLICY, REP_ERR_INVALID = ((1 << 31) + i for i in (1, 2, 3))
REP_ERR_UNKNOWN = (1 << 31) + 6

INFO_EXPORT, INFO_NAME, INFO_DESCRIPTION, INFO_BLOCK_SIZE = 0, 1, 2, 3

READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS = range(8)
FUA, NO_HOLE, DF, REQ_ONE, FAST_ZERO = (1 << i for i in range(5))

DONE = 1                                            # flag of a structured reply
NONE, OFFSET_DATA, OFFSET_HOLE, STATUS = 0, 1, 2, 5
ERROR, ERROR_OFFSET = 0x8001, 0x8002

EPERM, EIO, EINVAL, ENOSPC, EOVERFLOW, ENOTSUP = 1, 5, 22, 28, 75, 95


def string(s):
    return struct.pack(">I", len(s)) + s


def request(kind, offset=0, length=0, cookie=1, flags=0, data=b"", magic=REQUEST):
    return struct.pack(">IHHQQI", magic, flags, kind, cookie, offset, length) + data


class Dropped(Exception):
    """The server has closed the connection."""


class Reply:
    """A whole reply to a request: @chunks are (type, payload), None for a simple one."""

    def __init__(self, cookie, error=0, data=b"", chunks=None):
        self.cookie, self.error, self.data, self.chunks = cookie, error, data, chunks
        self.message, self.place, self.extents = "", None, []


class Client:
    """A connection that has heard the greeting and sent its flags, if @flags is not None."""

    def __init__(self, path, flags=FIXED_NEWSTYLE | NO_ZEROES, timeout=5):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.structured = False
        self.lengths = {}
        self.size = self.flags = None
        if flags is not None:
            self.greeting = struct.unpack(">QQH", self.receive(18))
            self.send(struct.pack(">I", flags))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def receive(self, size):
        data = b""
        while len(data) < size:
            try:
                part = self.sock.recv(size - len(data))
            except ConnectionResetError as e:
                raise Dropped from e
            if not part:
                raise Dropped
            data += part
        return data

    def dropped(self):
        """Whether the server closes the connection; what it still sends is not looked at."""
        try:
            while self.sock.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    # Handshake

    def send_option(self, option, data=b"", length=None, magic=IHAVEOPT):
        self.send(struct.pack(">QII", magic, option, len(data) if length is None else length)
                  + data)

    def option_reply(self):
        """(option, type, data) of one reply."""
        magic, option, kind, length = struct.unpack(">QIII", self.receive(20))
        assert magic == OPTION_REPLY, hex(magic)
        return option, kind, self.receive(length)

    def option(self, option, data=b""):
        """Haggle: the (type, data) of all replies, the last one being ACK or an error."""
        self.send_option(option, data)
        replies = []
        while True:
            to, kind, data = self.option_reply()
            assert to == option, to
            replies.append((kind, data))
            if kind == REP_ACK or kind >> 31:
                return replies

    def info(self, option, name=b"", infos=()):
        data = string(name) + struct.pack(f">H{len(infos)}H", len(infos), *infos)
        return self.option(option, data)

    def go(self, name=b"", infos=()):
        """Enter transmission; returns the (type, payload) of all infos."""
        replies = self.info(OPT_GO, name, infos)
        assert replies[-1][0] == REP_ACK, replies
        found = [(struct.unpack(">H", data[:2])[0], data[2:]) for _, data in replies[:-1]]
        self.size, self.flags = struct.unpack(">QH", dict(found)[INFO_EXPORT])
        return found

    def want_structured(self):
        replies = self.option(OPT_STRUCTURED_REPLY)
        assert replies == [(REP_ACK, b"")], replies
        self.structured = True

    def meta_context(self, option, *queries, name=b""):
        data = string(name) + struct.pack(">I", len(queries)) + b"".join(map(string, queries))
        return self.option(option, data)

    # Transmission

    def ask(self, kind, offset=0, length=0, cookie=1, flags=0, data=b""):
        """Send a request; a write's length is its data's."""
        length = len(data) if kind == WRITE else length
        self.lengths[cookie] = length if kind == READ else 0
        self.send(request(kind, offset, length, cookie, flags, data))

    def _chunk(self, reply, kind, data):
        if kind == OFFSET_DATA:
            reply.place = struct.unpack(">Q", data[:8])[0]
            reply.data += data[8:]
        elif kind == STATUS:
            assert struct.unpack(">I", data[:4])[0] == 1
            reply.extents = list(struct.iter_unpack(">II", data[4:]))
        elif kind in (ERROR, ERROR_OFFSET):
            reply.error, length = struct.unpack(">IH", data[:6])
            reply.message = data[6:6 + length].decode()
            rest = data[6 + length:]
            if kind == ERROR_OFFSET:
                reply.place, = struct.unpack(">Q", rest)
            else:
                assert not rest, rest
        else:
            assert kind == NONE and not data, (kind, data)

    def reply(self):
        """The next reply, whichever it is; its chunks must not be mixed with others'."""
        magic, = struct.unpack(">I", self.receive(4))
        if magic == SIMPLE_REPLY:
            error, cookie = struct.unpack(">IQ", self.receive(12))
            length = self.lengths.pop(cookie)
            assert not (self.structured and length), "a simple reply to a read"
            return Reply(cookie, error, b"" if error else self.receive(length))
        assert magic == STRUCTURED_REPLY and self.structured, hex(magic)
        reply = None
        while True:
            flags, kind, cookie, length = struct.unpack(">HHQI", self.receive(16))
            reply = reply or Reply(cookie, chunks=[])
            assert cookie == reply.cookie
            data = self.receive(length)
            reply.chunks.append((kind, data))
            self._chunk(reply, kind, data)
            if flags & DONE:
                self.lengths.pop(cookie)
                return reply
            magic, = struct.unpack(">I", self.receive(4))
            assert magic == STRUCTURED_REPLY, hex(magic)

    def do(self, kind, offset=0, length=0, flags=0, data=b"", cookie=1):
        """A request and its reply."""
        self.ask(kind, offset, length, cookie, flags, data)
        reply = self.reply()
        assert reply.cookie == cookie, reply.cookie
        return reply

    def read(self, offset, length):
        reply = self.do(READ, offset, length)
        assert not reply.error, reply.error
        return reply.data


def connect(path, structured=False, context=False, name=b"", **options):
    """A client in transmission."""
    client = Client(path, **options)
    if structured or context:
        client.want_structured()
    if context:
        replies = client.meta_context(OPT_SET_META_CONTEXT, b"base:allocation", name=name)
        assert replies[-1][0] == REP_ACK and len(replies) == 2, replies
    client.go(name)
    return client
