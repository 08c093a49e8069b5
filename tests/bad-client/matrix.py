#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 300
"""Hostile peers as a table: what each does, to which target, how it ends, and how long a good
client on the same iothread had to wait at most meanwhile.

It fails where the good client or the target is stopped. The gaps are printed and judged by
nobody: a busy machine makes some, too. The table is also written to $MATRIX, if that is set.
"""

import contextlib
import os
import socket
import struct
import time

import bench
import nbd_bench
import nbd_client as nbd
import vhost_user_client as vu
from vhost_user_client import Client, Device, Memory, Ring, u64

calls = __import__("calls")
floods = __import__("floods")
slow_close = __import__("slow-close")
stderr = __import__("stderr")

GIB = 1 << 30
ROWS = []


def hear(target, client):
    """How it ended for the client."""
    client.sock.settimeout(2)
    if not client.dropped():
        return "served on"
    lines = []
    bench.wait_until(lambda: lines.extend(target.new_lines()) or lines, 2)
    return lines[0].partition("dropped: ")[2] if lines else "dropped"


# vhost-user: what a working device's client does; returns the outcome

def call_blocks(target, d):
    d.ring.read(0)
    calls.fill(d.ring.call)
    os.set_blocking(d.ring.call, True)
    d.ring.request(vu.IN, 0, 512)
    return hear(target, d.client)


def call_is_a_pipe(target, d):
    read, write = os.pipe()
    d.client.send(vu.SET_VRING_CALL, u64(0), [write])
    os.close(read)
    os.close(write)
    return hear(target, d.client)


def kick_blocks(target, d):
    os.set_blocking(d.ring.kick, True)
    d.ring.read(0)
    return hear(target, d.client)


def slow_close_fd(target, d):
    peers, _ = slow_close.send_lingering(target, lambda fds: d.client.send(vu.SET_OWNER, b"", fds), 8)
    outcome = hear(target, d.client)
    for peer in peers:
        peer.close()
    return outcome


def hog(target, kind, segments, requests, ranges=b""):
    with contextlib.ExitStack() as stack:
        memory = Memory(16 << 20)
        ring = Ring(memory, 512)
        client = Client(target.socket)
        for thing in (memory, ring, client):
            stack.callback(thing.close)
        client.negotiate(vu.FEATURES | vu.F_INDIRECT)
        client.share(memory)
        client.start(ring)
        struct.pack_into("<IIQ", memory.map, ring.data, kind, 0, 0)
        memory.map[4 << 20:(4 << 20) + len(ranges)] = ranges
        entries = [(ring.guest(0), 16, 0)] + segments + [(ring.guest(64), 1, vu.WRITE)]
        last = len(entries) - 1
        ring.table(4096, [(a, n, f | (vu.NEXT if i < last else 0), i + 1)
                          for i, (a, n, f) in enumerate(entries)])
        for i in range(requests):
            ring.desc(i, ring.guest(4096), 16 * len(entries), vu.INDIRECT)
            ring.post(i, kick=i == requests - 1)
        time.sleep(2)
        return f"{memory.u16[(ring.used + 2) // 2]} of {requests} done in 2 s"


def huge_reads(target, d):
    return hog(target, vu.IN, [(d.memory.guest + (8 << 20), 8 << 20, vu.WRITE)] * 127, 256)


def huge_zeroes(target, d):
    ranges = struct.pack("<QII", 0, GIB // 512, 0) * 64
    return hog(target, vu.WRITE_ZEROES, [(d.memory.guest + (4 << 20), len(ranges), 0)], 5, ranges)


def much_memory(target, d):
    fd = os.memfd_create("sparse")
    os.ftruncate(fd, 127 << 40)
    d.client.send(vu.ADD_MEM_REG, u64(0) + struct.pack("<QQQQ", 1 << 40, 127 << 40, 1 << 40, 0), [fd])
    os.close(fd)
    return hear(target, d.client)


def memory_shrinks(target, d):
    os.ftruncate(d.memory.fd, 0)
    d.ring.notify()
    return hear(target, d.client)


def ring_loops(target, d):
    d.ring.desc(0, d.ring.guest(0), 16, vu.NEXT, 0)
    d.ring.post(0)
    return hear(target, d.client)


def half_a_message(target, d):
    d.client.send_raw(vu.HEADER.pack(vu.SET_VRING_NUM, vu.VERSION, 8))
    d.client.sock.settimeout(20)
    return "held until its deadline" if not d.client.dropped(1) else "dropped at once"


# NBD: what a client in transmission does

def nbd_huge_zeroes(target, client):
    client.send(b"".join(nbd.request(nbd.WRITE_ZEROES, 16 << 20, 1008 << 20, i, 2) for i in range(256)))
    time.sleep(2)
    return "goes on"


def nbd_slow_close(target, client):
    def send(fds):
        try:
            socket.send_fds(client.sock, [nbd.request(nbd.READ, 0, 512)], fds)
        except PermissionError:
            os._exit(3)

    peers, status = slow_close.send_lingering(target, send)
    for peer in peers:
        peer.close()
    return "refused by the kernel" if os.waitstatus_to_exitcode(status) == 3 else "taken and closed"


def nbd_noise(target, client):
    client.send(bytes(28))
    return hear(target, client)


def nbd_takes_no_replies(target, client):
    client.sock.settimeout(1)
    with contextlib.suppress(TimeoutError):
        while True:
            client.send(nbd.request(nbd.READ, 0, 65536) * 64)
    return "waits for its own"


# either

def flood(target, client):
    with floods.flood(target):
        time.sleep(2)
        with contextlib.closing(floods.connect(target)) as new:
            floods.read(new)
    return "new clients get in"


def silent_crowd(target, client):
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.socket(socket.AF_UNIX)).connect(target.socket)
        with contextlib.closing(floods.connect(target)) as new:
            floods.read(new)
    return "new clients get in"


def many_lines(target, client):
    for _ in range(1500):
        stderr.be_dropped(target)
    return "lines are suppressed"


VHOST_USER = (
    ("call eventfd made to block, and full", call_blocks),
    ("the same once more", call_blocks),
    ("call descriptor is a pipe", call_is_a_pipe),
    ("kick eventfd made to block", kick_blocks),
    ("descriptors whose close() waits", slow_close_fd),
    ("256 reads of 1016 MiB", huge_reads),
    ("5 write-zeroes of 64 GiB", huge_zeroes),
    ("127 TiB of sparse memory", much_memory),
    ("its memory shrinks", memory_shrinks),
    ("a descriptor chain loops", ring_loops),
    ("half a message, then silence", half_a_message),
    ("connects without end", flood),
    ("300 silent connections", silent_crowd),
    ("1500 clients to be dropped, stderr a full pipe", many_lines),
)
NBD = (
    ("256 write-zeroes of 1008 MiB", nbd_huge_zeroes),
    ("descriptors whose close() waits", nbd_slow_close),
    ("noise for a request", nbd_noise),
    ("takes no replies", nbd_takes_no_replies),
    ("connects without end", flood),
    ("300 silent connections", silent_crowd),
    ("1500 clients to be dropped, stderr a full pipe", many_lines),
)


class Matrix(bench.unittest.TestCase):
    def check(self, kind, faults, targets, good_client, connect):
        for fault, act in faults:
            with self.subTest(target=kind, fault=fault):
                size = "1G" if act in (huge_reads, huge_zeroes, nbd_huge_zeroes) else "16M"
                target = targets[act is many_lines]("--size", size, "--iothreads", "1")
                self.addCleanup(target.close)
                # Memory is taken first, while clients wait.
                floods.connect(target).close()
                with contextlib.suppress(OSError, nbd.Dropped):
                    if fault == "the same once more":
                        with contextlib.closing(connect(target.socket)) as first:
                            act(target, first)
                good = good_client(target.socket)
                good.start()
                with contextlib.closing(connect(target.socket)) as bad:
                    outcome = act(target, bad)
                    reads = good.reads
                    goes_on = bench.wait_until(lambda: good.reads > reads + 5, 30)
                good.finish()
                status = target.stop(30)
                ROWS.append((fault, kind, outcome, f"{good.longest * 1e3:.1f}",
                             "yes" if status == 0 else f"no ({status})"))
                self.assertTrue(goes_on and not good.error, "the good client is stopped")
                self.assertEqual(status, 0, "the target does not end")

    def test_vhost_user(self):
        self.check("vhost-user-blk", VHOST_USER, (bench.Target, stderr.PipeTarget), bench.GoodClient, Device)

    def test_nbd(self):
        self.check("nbd", NBD, (nbd_bench.Target, stderr.NbdPipeTarget), nbd_bench.GoodClient, nbd.connect)

    @classmethod
    def tearDownClass(cls):
        head = ("fault", "target", "outcome", "good client's longest gap, ms", "ends by SIGTERM")
        table = "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * 5, *ROWS))
        print("\n" + table)
        if "MATRIX" in os.environ:
            with open(os.environ["MATRIX"], "w", encoding="utf-8") as f:
                f.write(table + "\n")


if __name__ == "__main__":
    # Each of the faults has a test of its own, which sanitizers see.
    if bench.SANITIZED:
        print("SKIP: gaps with a sanitizer say nothing")
        raise SystemExit(77)
    bench.main()
