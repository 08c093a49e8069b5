#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a driver does to descriptors that it shares keeps nobody but itself."""

import os
import threading

import bench
import vhost_user_client as vu
from vhost_user_client import u64

FULL = (1 << 64) - 2
MADE_TO_BLOCK = r"client \d+ dropped: call eventfd is full and blocks$"


def fill(fd):
    """Nothing more can be added; it is not blocking yet."""
    try:
        os.eventfd_read(fd)
    except BlockingIOError:
        pass
    os.eventfd_write(fd, FULL)


class Calls(bench.BadClientTest):
    longest_gap = None

    def blocking_and_full(self, device):
        device.ring.read(0)
        fill(device.ring.call)
        os.set_blocking(device.ring.call, True)
        device.ring.request(vu.IN, 0, 512)

    def test_made_to_block(self):
        """The first one is found out after a moment, and from then on nobody is waited for."""
        lines = []
        for _ in range(20):
            with self.connect() as device:
                self.blocking_and_full(device)
                self.assertTrue(bench.wait_until(device.ring.has_used))
                # The wait must end: else closing the eventfd would not end it either.
                self.check_new_reads()
                lines += self.target.new_lines()
        bench.wait_until(lambda: lines.extend(self.target.new_lines()) or lines)
        self.assertLessEqual(len(lines), 1, lines)
        for line in lines:
            self.check_line(line, MADE_TO_BLOCK)

    def check_new_reads(self):
        reads = self.good.reads
        self.assertTrue(bench.wait_until(lambda: self.good.reads > reads + 5), "the good client waits")

    def test_made_to_block_and_back(self):
        """All the time, while calls are made."""
        with self.connect() as device:
            call, end = device.ring.call, []

            def spoil():
                while not end:
                    fill(call)
                    os.set_blocking(call, True)
                    os.set_blocking(call, False)

            thread = threading.Thread(target=spoil)
            thread.start()
            try:
                for _ in range(200):
                    device.ring.request(vu.IN, 0, 512)
                    if not bench.wait_until(device.ring.has_used, 1):
                        break
                    device.ring.take()
                self.check_new_reads()
            finally:
                end.append(True)
                thread.join()
        bench.wait_until(lambda: self.target.fds() == self.fds)
        for line in self.target.new_lines():
            self.check_line(line, MADE_TO_BLOCK)

    def test_kick_made_to_block(self):
        """It is never read."""
        with self.connect() as device:
            os.set_blocking(device.ring.kick, True)
            for i in range(20):
                device.ring.read(i)
            os.eventfd_read(device.ring.kick)
            for i in range(20):
                device.ring.read(i)

    def test_error_made_to_block(self):
        fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.addCleanup(os.close, fd)
        with self.dropped("a descriptor or ring index is out of range$") as device:
            device.client.tell(vu.SET_VRING_ERR, u64(0), [fd])
            fill(fd)
            os.set_blocking(fd, True)
            device.ring.post(99)


class CallsPolled(Calls):
    options = ("--poll", "busy")


class CallsDelayed(Calls):
    options = ("--delay", "fixed:1ms", "--iothreads", "2")


if __name__ == "__main__":
    bench.main()
