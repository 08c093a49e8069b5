#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a target has to say about bad clients never keeps it from serving good ones."""

import contextlib
import fcntl
import os
import signal
import time
import unittest

import bench
import nbd_bench
import nbd_client as nbd
import vhost_user_client as vu


def be_dropped(target):
    """A client for whom the target has a line."""
    if isinstance(target, nbd_bench.Target):
        with nbd.Client(target.socket) as client:
            client.send(bytes(16))
            return client.dropped()
    with contextlib.closing(vu.Client(target.socket)) as client:
        client.send(99)
        return client.dropped()


class Pipe:
    """A target's stderr is a pipe of 4 KiB that nobody reads."""

    def open_log(self):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        self.reader = os.fdopen(read, "rb")
        return os.fdopen(write, "wb")

    def new_lines(self):
        return []

    def close(self):
        super().close()
        self.reader.close()


class PipeTarget(Pipe, bench.Target):
    pass


class NbdPipeTarget(Pipe, nbd_bench.Target):
    pass


class NobodyReads(bench.BadClientTest):
    make_target = PipeTarget

    def test_clients_that_are_dropped(self):
        for _ in range(1500):
            self.assertTrue(be_dropped(self.target))
        self.check_new_client()

    def test_statistics_are_asked_for(self):
        for _ in range(20):
            self.target.process.send_signal(signal.SIGUSR1)
            self.check_new_client()


class NbdNobodyReads(nbd_bench.BadClientTest):
    make_target = NbdPipeTarget

    test_clients_that_are_dropped = NobodyReads.test_clients_that_are_dropped
    test_statistics_are_asked_for = NobodyReads.test_statistics_are_asked_for


class TooManyLines(unittest.TestCase):
    """All are accounted for, however few are said."""

    def check(self, make_target):
        target = make_target()
        self.addCleanup(target.close)
        began = time.monotonic()
        for _ in range(1000):
            self.assertTrue(be_dropped(target))
        if time.monotonic() - began < 20:
            # It is said how many while it serves, not only at its end. (In 40 s all can be said.)
            self.assertTrue(bench.wait_until(lambda: bench.lines_left_out(target.new_lines())))
            target.seen = 0
        self.assertEqual(target.stop(), 0)
        lines = target.new_lines()
        said = [line for line in lines if " dropped: " in line]
        self.assertGreaterEqual(len(said), 200)
        self.assertEqual(len(said) + bench.lines_left_out(lines), 1000)

    def test_vhost_user(self):
        self.check(bench.Target)

    def test_nbd(self):
        self.check(nbd_bench.Target)


if __name__ == "__main__":
    bench.main()
