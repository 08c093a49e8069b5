# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of bad NBD clients share, beside what is in bench.py."""

import contextlib
import os

import bench
import nbd_client as nbd

main = bench.main
wait_until = bench.wait_until


class Target(bench.Target):
    program = os.path.join(bench.BUILD, "targets", "nbd-target")


class GoodClient(bench.GoodClient):
    def connect(self, socket):
        client = nbd.connect(socket, structured=True)
        client.do(nbd.WRITE, 8 << 20, data=b"good" * 1024)
        return client

    def read(self, number):
        if self.device.read(8 << 20, 4096) != b"good" * 1024:
            raise AssertionError("the good client's data has changed")


class BadClientTest(bench.BadClientTest):
    make_target = Target
    make_good_client = GoodClient

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def connect(self, **options):
        """A client in transmission."""
        client = nbd.connect(self.target.socket, **options)
        self.addCleanup(client.close)
        return client

    def shake_hands(self, **options):
        """A client that may send options."""
        client = nbd.Client(self.target.socket, **options)
        self.addCleanup(client.close)
        return client

    def check_new_client(self):
        with nbd.connect(self.target.socket) as client:
            client.read(0, 4096)
        self.assertTrue(wait_until(lambda: self.target.fds() == self.fds))

    def check_dropped(self, client, pattern):
        self.assertTrue(client.dropped(), "the client was not dropped")
        client.close()
        self.expect_line(rf"^client \d+ dropped: {pattern}$")
        self.check_new_client()

    @contextlib.contextmanager
    def dropped(self, pattern, **options):
        """What the body does in transmission gets its client dropped."""
        client = self.connect(**options)
        client.read(0, 4096)
        yield client
        self.check_dropped(client, pattern)
