#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What libnbd can ask for, as nbdsh scripts do."""

import errno
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(os.path.dirname(TESTS), os.environ.get("B", "build"))
PROGRAM = os.path.join(BUILD, "targets", "nbd-target")
SIZE = 32 << 20

try:
    import nbd
except ImportError:
    print("SKIP: needs libnbd's Python module")
    sys.exit(77)


class Script(unittest.TestCase):
    options = ()

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.socket = os.path.join(self.directory.name, "s")
        self.target = subprocess.Popen(
            [PROGRAM, "--socket", self.socket, "--backend", "ram", "--size", str(SIZE),
             "--export", "name", *self.options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        self.wait_until_it_listens()

    def wait_until_it_listens(self):
        for _ in range(200):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                if not s.connect_ex(self.socket):
                    return
            time.sleep(0.05)
        self.fail("the target does not listen")

    def stop(self):
        self.target.terminate()
        said = self.target.communicate(timeout=10)[1]
        self.assertEqual((self.target.returncode, said), (0, b""))

    def connect(self, structured=True, context=True):
        h = nbd.NBD()
        h.set_request_structured_replies(structured)
        if context:
            h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
        h.connect_unix(self.socket)
        self.addCleanup(h.shutdown)
        return h

    def check_error(self, expected, call, *args, **kwargs):
        with self.assertRaises(nbd.Error) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.errnum, expected)


class Commands(Script):
    def test_negotiated(self):
        h = self.connect()
        self.assertEqual(h.get_protocol(), "newstyle-fixed")
        self.assertTrue(h.get_structured_replies_negotiated())
        self.assertTrue(h.can_meta_context(nbd.CONTEXT_BASE_ALLOCATION))
        self.assertTrue(h.can_df())
        self.assertTrue(h.can_multi_conn())
        self.assertEqual([h.get_block_size(i) for i in (0, 1, 2)], [512, 4096, 32 << 20])
        h = self.connect(structured=False, context=False)
        self.assertFalse(h.get_structured_replies_negotiated())
        self.assertFalse(h.can_df())

    def test_list(self):
        h = nbd.NBD()
        h.set_opt_mode(True)
        h.connect_unix(self.socket)
        names = []
        h.opt_list(lambda name, text: names.append((name, text)) or 0)
        self.assertEqual(names, [("name", "fio-dataplane, ram backend")])
        contexts = []
        h.opt_list_meta_context(lambda name: contexts.append(name) or 0)
        self.assertEqual(contexts, ["base:allocation"])
        h.set_export_name("other")
        self.check_error(errno.ENOENT, h.opt_info)
        h.set_export_name("name")
        h.set_full_info(True)
        h.opt_info()
        self.assertEqual(h.get_canonical_export_name(), "name")
        self.assertEqual(h.get_export_description(), "fio-dataplane, ram backend")
        h.opt_go()
        self.assertEqual(h.get_size(), SIZE)
        h.shutdown()

    def test_pipelined(self):
        for structured in (False, True):
            h = self.connect(structured, structured)
            rng = random.Random(7)
            data = rng.randbytes(1 << 20)
            for block in (512, 4096, 65536):
                writes = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data[i:i + block])), i)
                          for i in range(0, len(data), block)]
                self.complete(h, writes)
                buffers = [nbd.Buffer(block) for _ in range(0, len(data), block)]
                self.complete(h, [h.aio_pread(b, i * block) for i, b in enumerate(buffers)])
                self.assertTrue(b"".join(b.to_bytearray() for b in buffers) == data)

    def complete(self, h, cookies):
        left = set(cookies)
        while left:
            h.poll(-1)
            done = {c for c in left if h.aio_command_completed(c)}
            left -= done

    def test_chunks(self):
        h = self.connect()
        data = os.urandom(1 << 20)
        h.pwrite(data, 4096)
        for flags in (0, nbd.CMD_FLAG_DF):
            chunks = []

            def chunk(part, offset, status, _error):
                chunks.append((bytes(part), offset, status))
                return 0

            self.assertEqual(h.pread_structured(1 << 20, 4096, chunk, flags), data)
            self.assertEqual(chunks, [(data, 4096, nbd.READ_DATA)])

    def test_trim_and_zero(self):
        h = self.connect()
        for flags in (0, nbd.CMD_FLAG_FUA):
            h.pwrite(b"x" * 65536, 0, flags)
            h.trim(8192, 8192, flags)
            self.assertEqual(h.pread(65536, 0)[:8192], b"x" * 8192)
            for more in (0, nbd.CMD_FLAG_NO_HOLE):
                h.pwrite(b"x" * 65536, 0)
                h.zero(1536, 512, flags | more)
                self.assertEqual(h.pread(4096, 0), b"x" * 512 + bytes(1536) + b"x" * 2048)
        h.zero(SIZE, 0)
        self.assertEqual(h.pread(SIZE, 0), bytes(SIZE))

    def test_status(self):
        h = self.connect()

        def status(length, offset, flags=0):
            found = []

            def extents(context, at, entries, _error):
                found.append((context, at, entries))
                return 0

            h.block_status(length, offset, extents, flags)
            (context, at, entries), = found
            self.assertEqual((context, at), ("base:allocation", offset))
            return sum(entries[::2])

        h.pwrite(b"x" * 4096, 0)
        self.assertLessEqual(status(SIZE, 0), SIZE)
        self.assertLessEqual(status(4096, 512, nbd.CMD_FLAG_REQ_ONE), 4096)

    def test_cache_and_flush(self):
        h = self.connect()
        h.cache(SIZE, 0)
        h.cache(512, SIZE - 512)
        h.flush()

    def test_several_connections(self):
        """What is flushed on one is seen by all."""
        handles = [self.connect() for _ in range(4)]
        for i, h in enumerate(handles):
            h.pwrite(bytes([i + 1]) * 4096, i * 4096)
        handles[0].flush()
        for h in handles:
            self.assertEqual(h.pread(16384, 0),
                             b"".join(bytes([i + 1]) * 4096 for i in range(4)))

    def test_errors(self):
        for structured in (False, True):
            h = self.connect(structured, structured)
            h.set_strict_mode(0)
            self.check_error(errno.EINVAL, h.pread, 512, SIZE)
            self.check_error(errno.ENOSPC, h.pwrite, bytes(1024), SIZE - 512)
            self.check_error(errno.ENOSPC, h.zero, 512, SIZE)
            self.check_error(errno.EINVAL, h.trim, 512, SIZE)
            self.check_error(errno.EINVAL, h.cache, 512, SIZE)
            self.check_error(errno.EINVAL, h.pread, 100, 0)
            self.check_error(errno.EINVAL, h.pwrite, bytes(100), 0)
            self.check_error(errno.EINVAL, h.flush, 64)
            self.assertEqual(h.pread(512, 0), bytes(512))


class Threads(Commands):
    """The same through the thread pool, and four connections over two iothreads."""
    options = ("--aio", "threads", "--iothreads", "2", "--poll", "off")


class Delayed(Script):
    options = ("--delay", "uniform:1us,5ms")

    def test_out_of_order(self):
        h = self.connect()
        ended = []

        def done(i):
            return lambda error: ended.append((i, error.value)) or 1

        for i in range(60):
            h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(512)), i * 512, completion=done(i))
        while h.aio_in_flight():
            h.poll(-1)
        self.assertEqual(sorted(ended), [(i, 0) for i in range(60)])
        self.assertNotEqual(ended, sorted(ended))


if __name__ == "__main__":
    if not os.path.exists(PROGRAM):
        print(f"SKIP: {PROGRAM} is not built")
        sys.exit(77)
    unittest.main(verbosity=2)
