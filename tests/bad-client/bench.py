# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of bad clients share: a target, a good client beside, what must hold."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

from vhost_user_client import Device  # noqa: E402

BUILD = os.path.join(os.path.dirname(TESTS), os.environ.get("B", "build"))
SANITIZED = "address" in BUILD or "thread" in BUILD
PROGRAM = os.path.join(BUILD, "targets", "vhost-user-blk-target")


def wait_until(condition, seconds=5):
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def listens(path):
    """Whether somebody listens on a socket; its file is there a moment earlier."""
    with open("/proc/net/unix", encoding="utf-8") as f:
        # Num RefCount Protocol Flags Type St Inode Path
        fields = (line.split() for line in f)
        return any(x[3] == "00010000" and x[7:] == [path] for x in fields)


def patiently(connect, path):
    """A client of a target that may still be busy taking its disk's memory."""
    for _ in range(11):
        try:
            return connect(path)
        except TimeoutError:
            pass
    return connect(path)


class Target:
    """A running target."""

    program = PROGRAM

    def __init__(self, *options):
        self.directory = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.directory.name, "s")
        self.log = self.open_log()
        self.process = subprocess.Popen(
            [self.program, "--socket", self.socket, "--backend", "ram", "--size", "16M", *options],
            stdin=subprocess.DEVNULL, stderr=self.log)
        self.seen = 0
        wait_until(lambda: listens(self.socket) or not self.running())
        if not self.running() or not listens(self.socket):
            self.close()
            raise RuntimeError("the target does not start")

    def open_log(self):
        """Where its stderr goes."""
        return open(os.path.join(self.directory.name, "err"), "w+b")

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def new_lines(self):
        """Lines written to stderr since the last call, without that of a slow host, which has to wait for its memory."""
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()
        new, self.seen = lines[self.seen:], len(lines)
        return [line for line in new if ": ram: taking " not in line]

    def running(self):
        return self.process.poll() is None

    def stop(self, seconds=10):
        """SIGTERM, and return the exit status; None if it had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def close(self):
        if self.running():
            self.stop()
        self.log.close()
        self.directory.cleanup()


class GoodClient(threading.Thread):
    """Reads all the time on a connection of its own, and remembers its longest wait."""

    def __init__(self, socket):
        super().__init__()
        self.device = self.connect(socket)
        self.end = False
        self.reads = 0
        self.longest = 0
        self.error = None

    def connect(self, socket):
        return Device(socket)

    def read(self, number):
        self.device.ring.read(number % 1000, 4096)

    def run(self):
        last = time.monotonic()
        try:
            while not self.end:
                self.read(self.reads)
                self.reads += 1
                now = time.monotonic()
                self.longest = max(self.longest, now - last)
                last = now
                time.sleep(0.001)
        except BaseException as e:
            self.error = e

    def finish(self):
        self.end = True
        self.join()
        self.device.close()


class BadClientTest(unittest.TestCase):
    """One target for all tests of a class, with a good client busy on it throughout."""

    make_target = Target
    make_good_client = GoodClient
    options = ()
    exit_status = 0
    longest_gap = 1     # in seconds, of the good client; None where load alone can make one

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(cls.make_target.program):
            print(f"SKIP: {cls.make_target.program} is not built")
            sys.exit(77)
        cls.target = cls.make_target(*cls.options)
        cls.addClassCleanup(cls.target.close)
        cls.good = patiently(cls.make_good_client, cls.target.socket)
        cls.good.start()
        cls.fds = cls.target.fds()

    @classmethod
    def tearDownClass(cls):
        cls.good.finish()
        status = cls.target.stop()
        lines = cls.target.new_lines()
        if status != cls.exit_status or lines:
            raise AssertionError(f"the target ended with {status} and said {lines}")

    def setUp(self):
        self.good.longest = 0

    def tearDown(self):
        """What must hold after each test, whatever the bad client did."""
        self.assertTrue(self.target.running(), self.target.new_lines())
        self.assertIsNone(self.good.error)
        reads = self.good.reads
        self.assertTrue(wait_until(lambda: self.good.reads > reads + 1), "the good client waits")
        if self.longest_gap:
            self.assertLess(self.good.longest, self.longest_gap)
        self.assertTrue(wait_until(lambda: self.target.fds() == self.fds),
                        f"{self.target.fds()} descriptors, not {self.fds}")
        self.assertEqual(self.target.new_lines(), [])

    def connect(self, **options):
        return Device(self.target.socket, **options)

    def check_new_client(self):
        with self.connect() as device:
            device.ring.read(0)
        self.assertTrue(wait_until(lambda: self.target.fds() == self.fds))

    def expect_line(self, pattern, count=1):
        """The target says why, in as many lines as there were bad clients."""
        lines = []

        def complete():
            lines.extend(self.target.new_lines())
            return len(lines) >= count

        self.assertTrue(wait_until(complete), f"no line like '{pattern}'")
        time.sleep(0.02)
        lines.extend(self.target.new_lines())
        self.assertEqual(len(lines), count, lines)
        for line in lines:
            self.check_line(line, pattern)

    def check_line(self, line, pattern):
        name, _, text = line.partition(": ")
        self.assertEqual(name, os.path.basename(self.target.program))
        self.assertRegex(text, re.compile(pattern))

    @contextlib.contextmanager
    def dropped(self, pattern, **options):
        """What the body does to a working device gets its client dropped."""
        with self.connect(**options) as device:
            device.ring.read(0)
            yield device
            self.assertTrue(device.client.dropped(), "the client was not dropped")
        self.expect_line(pattern)
        self.check_new_client()


def lines_left_out(lines):
    """How many lines about clients there were too many to be said."""
    found = (re.search(r": (\d+) more lines about clients were suppressed$", line) for line in lines)
    return sum(int(m[1]) for m in found if m)


def main():
    unittest.main(verbosity=2)
