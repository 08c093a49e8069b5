# SPDX-License-Identifier: GPL-2.0-only
"""A vhost-user front end with nothing between it and the wire.

It sends what it is told, well-formed or not, so that tests can play any peer: see
QEMU's docs/interop/vhost-user.rst for the messages, VIRTIO 1.2 section 2.7 for the ring.
"""

import array
import mmap
import os
import select
import socket
import struct
import sys
import time

GET_FEATURES = 1
SET_FEATURES = 2
SET_OWNER = 3
SET_MEM_TABLE = 5
SET_VRING_NUM = 8
SET_VRING_ADDR = 9
SET_VRING_BASE = 10
GET_VRING_BASE = 11
SET_VRING_KICK = 12
SET_VRING_CALL = 13
SET_VRING_ERR = 14
GET_PROTOCOL_FEATURES = 15
SET_PROTOCOL_FEATURES = 16
GET_QUEUE_NUM = 17
SET_VRING_ENABLE = 18
GET_CONFIG = 24
SET_CONFIG = 25
GET_INFLIGHT_FD = 31
SET_INFLIGHT_FD = 32
GET_MAX_MEM_SLOTS = 36
ADD_MEM_REG = 37
REM_MEM_REG = 38

VERSION = 1
REPLY = 4
NEED_REPLY = 8

F_FLUSH = 1 << 9
F_INDIRECT = 1 << 28
F_EVENT_IDX = 1 << 29
F_PROTOCOL = 1 << 30
F_VERSION_1 = 1 << 32
F_PACKED = 1 << 34
FEATURES = F_VERSION_1 | F_PROTOCOL

PROTOCOL_MQ = 1 << 0
PROTOCOL_REPLY_ACK = 1 << 3
PROTOCOL_CONFIG = 1 << 9
PROTOCOL_INFLIGHT = 1 << 12
PROTOCOL_SLOTS = 1 << 15
PROTOCOL = PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_CONFIG | PROTOCOL_SLOTS

NEXT, WRITE, INDIRECT = 1, 2, 4         # descriptor flags
IN, OUT, FLUSH, GET_ID = 0, 1, 4, 8     # request types
WRITE_ZEROES = 13
OK, IOERR, UNSUPP = 0, 1, 2             # their status

HEADER = struct.Struct("<III")

assert sys.byteorder == "little", "rings are little-endian"


def u64(value):
    return struct.pack("<Q", value)


def inflight(size, offset=0, queues=1, queue_size=16):
    return struct.pack("<QQHHI", size, offset, queues, queue_size, 0)


def state(index, num):
    return struct.pack("<II", index, num)


class Memory:
    """A memfd that is mapped here and may be shared with a device."""

    def __init__(self, size=1 << 20, guest=0x100000, user=0x7F0000000000):
        self.size, self.guest, self.user = size, guest, user
        self.fd = os.memfd_create("guest")
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        # For indices: struct.pack_into() clears its target first, and a device that
        # polls would see that.
        self.u16 = memoryview(self.map).cast("H")

    def region(self, **changes):
        """The region's description as messages carry it."""
        r = {"guest": self.guest, "size": self.size, "user": self.user, "offset": 0}
        r.update(changes)
        return struct.pack("<QQQQ", r["guest"], r["size"], r["user"], r["offset"])

    def close(self):
        self.u16.release()
        self.map.close()
        os.close(self.fd)


class Client:
    """A connection to a target."""

    def __init__(self, path, timeout=5):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(path)

    def close(self):
        self.sock.close()

    def send(self, request, payload=b"", fds=(), flags=VERSION, size=None):
        """One message; @size is what the header claims, if not the truth."""
        head = HEADER.pack(request, flags, len(payload) if size is None else size)
        self.send_raw(head + payload, fds)

    def send_raw(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([data], rights)

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                raise EOFError("the target closed the connection")
            data += part
        return data

    def receive(self):
        request, flags, size = HEADER.unpack(self._read(HEADER.size))
        return request, flags, self._read(size)

    def ask(self, request, payload=b""):
        """Send a request that has an answer, and return the answer's payload."""
        self.send(request, payload)
        got, flags, answer = self.receive()
        assert got == request and flags & REPLY, f"answer {got} flags {flags:#x} to {request}"
        return answer

    def ask_u64(self, request):
        return struct.unpack("<Q", self.ask(request))[0]

    def tell(self, request, payload=b"", fds=()):
        """Send a request and wait until the target says that it was accepted."""
        self.send(request, payload, fds, VERSION | NEED_REPLY)
        got, flags, answer = self.receive()
        assert got == request and flags & REPLY, f"answer {got} flags {flags:#x} to {request}"
        assert answer == u64(0), f"request {request} was refused"

    def dropped(self, timeout=5):
        """Wait for the target to hang up; False if it does not."""
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(4096):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True

    def negotiate(self, features=FEATURES):
        self.tell_protocol()
        self.tell(SET_OWNER)
        self.tell(SET_FEATURES, u64(features))

    def tell_protocol(self):
        # Acknowledgements begin behind this message.
        self.send(SET_PROTOCOL_FEATURES, u64(PROTOCOL))

    def share(self, *memories):
        table = struct.pack("<II", len(memories), 0) + b"".join(m.region() for m in memories)
        self.tell(SET_MEM_TABLE, table, [m.fd for m in memories])

    def start(self, ring, index=0, base=0, enable=1):
        """Describe a ring to the target and let it run."""
        self.tell(SET_VRING_NUM, state(index, ring.num))
        self.tell(SET_VRING_BASE, state(index, base))
        self.tell(SET_VRING_ADDR, ring.addresses(index))
        self.tell(SET_VRING_CALL, u64(index), [ring.call])
        self.tell(SET_VRING_KICK, u64(index), [ring.kick])
        self.tell(SET_VRING_ENABLE, state(index, enable))


class Ring:
    """A split ring at the start of a Memory, filled by hand; data lies behind it.

    Requests made by request() use direct chains of three descriptors.
    """

    def __init__(self, memory, num=16, at=0):
        self.m, self.num, self.at = memory, num, at
        self.avail = at + 16 * num
        self.used = (self.avail + 6 + 2 * num + 63) // 64 * 64
        self.data = (self.used + 6 + 8 * num + 4095) // 4096 * 4096
        self.avail_idx = self.used_idx = 0
        self.kick = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.call = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def close(self):
        os.close(self.kick)
        os.close(self.call)

    def addresses(self, index=0, **changes):
        a = {"desc": self.m.user + self.at, "used": self.m.user + self.used,
             "avail": self.m.user + self.avail}
        a.update(changes)
        return struct.pack("<IIQQQQ", index, 0, a["desc"], a["used"], a["avail"], 0)

    def guest(self, offset):
        """Guest address of a place in the data area."""
        return self.m.guest + self.data + offset

    def desc(self, i, addr, length, flags=0, following=0):
        struct.pack_into("<QIHH", self.m.map, self.at + 16 * i, addr, length, flags, following)

    def table(self, offset, entries):
        """An indirect table at a place in the data area."""
        for i, entry in enumerate(entries):
            struct.pack_into("<QIHH", self.m.map, self.data + offset + 16 * i, *entry)

    def post(self, head, count=1, kick=True):
        """Show a head; @count is how far the index moves, if not by one."""
        self.m.u16[(self.avail + 4) // 2 + self.avail_idx % self.num] = head
        self.avail_idx = (self.avail_idx + count) % 65536
        self.m.u16[(self.avail + 2) // 2] = self.avail_idx
        if kick:
            self.notify()

    def notify(self):
        os.eventfd_write(self.kick, 1)

    def request(self, kind, sector, length, slot=0, kick=True):
        """Queue a request; its data is at slot * 8192 in the data area."""
        head, place = 3 * slot, 8192 * slot
        struct.pack_into("<IIQ", self.m.map, self.data + place, kind, 0, sector)
        self.m.map[self.data + place + 64] = 0xFF
        self.desc(head, self.guest(place), 16, NEXT, head + 1)
        if length:
            flags = WRITE if kind in (IN, GET_ID) else 0
            self.desc(head + 1, self.guest(place + 4096), length, flags | NEXT, head + 2)
            self.desc(head + 2, self.guest(place + 64), 1, WRITE)
        else:
            self.desc(head + 1, self.guest(place + 64), 1, WRITE)
        self.post(head, kick=kick)

    def status(self, slot=0):
        return self.m.map[self.data + 8192 * slot + 64]

    def payload(self, length, slot=0):
        at = self.data + 8192 * slot + 4096
        return self.m.map[at:at + length]

    def has_used(self):
        return self.m.u16[(self.used + 2) // 2] != self.used_idx

    def wait(self, timeout=5):
        """The head of the next completion; TimeoutError when none comes."""
        end = time.monotonic() + timeout
        while not self.has_used():
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("no completion")
            if select.select([self.call], [], [], left)[0]:
                os.eventfd_read(self.call)
        return self.take()

    def take(self):
        """The head of a completion that is there."""
        at = self.used + 4 + 8 * (self.used_idx % self.num)
        self.used_idx = (self.used_idx + 1) % 65536
        return struct.unpack_from("<I", self.m.map, at)[0]

    def read(self, sector, length=512):
        """Read and return data, which must work."""
        self.request(IN, sector, length)
        self.wait()
        assert self.status() == OK, f"read of sector {sector}: status {self.status()}"
        return self.payload(length)


class Device:
    """A client with one running ring: what most tests begin with."""

    def __init__(self, path, features=FEATURES | F_INDIRECT, num=16):
        self.memory = Memory()
        self.ring = Ring(self.memory, num)
        try:
            self.client = Client(path)
            self.client.negotiate(features)
            self.client.share(self.memory)
            self.client.start(self.ring)
        except BaseException:
            self.close()
            raise

    def close(self):
        if hasattr(self, "client"):
            self.client.close()
        self.ring.close()
        self.memory.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
