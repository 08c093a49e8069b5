#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Memory that a client shares: too much of it, of the wrong kind, or in huge pages."""

import os
import shutil
import struct
import subprocess
import tempfile

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Memory, u64

HUGE = 2 << 20
FUSE_LINE = "shared memory is on a FUSE, overlay or network file system"


def sparse(size, flags=0):
    fd = os.memfd_create("sparse", flags)
    os.ftruncate(fd, size)
    return fd


def region(guest, size, offset=0):
    return struct.pack("<QQQQ", guest, size, guest, offset)


class OfClients(bench.BadClientTest):
    def client(self):
        client = Client(self.target.socket)
        self.addCleanup(client.close)
        client.negotiate()
        return client

    def file(self, size, flags=0):
        fd = sparse(size, flags)
        self.addCleanup(os.close, fd)
        return fd

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def mapped(self, name):
        with open(f"/proc/{self.target.process.pid}/maps", encoding="ascii") as f:
            return [line for line in f if name in line]

    def refused(self, client, pattern):
        self.assertTrue(client.dropped(), "the client was not dropped")
        client.close()
        self.expect_line(rf"^client \d+ dropped: {pattern}")
        self.check_new_client()
        self.assertEqual(self.mapped("sparse"), [])


class HowMuch(OfClients):
    TOO_MUCH = r"shared memory exceeds --max-client-memory$"

    def test_128_tib_of_holes(self):
        size = 127 << 40
        client = self.client()
        client.send(vu.SET_MEM_TABLE, struct.pack("<II", 1, 0) + region(0, size), [self.file(size)])
        self.refused(client, self.TOO_MUCH)

    def test_in_many_regions(self):
        client = self.client()
        fd = self.file(300 << 30)
        for i in range(4):
            message = u64(0) + region(i << 40, 300 << 30)
            (client.tell if i < 3 else client.send)(vu.ADD_MEM_REG, message, [fd])
        self.refused(client, self.TOO_MUCH)

    def test_behind_an_offset(self):
        """What is mapped begins at the start of the file."""
        client = self.client()
        fd = self.file((2 << 40) + 4096)
        client.send(vu.ADD_MEM_REG, u64(0) + region(0, 4096, 2 << 40), [fd])
        self.refused(client, self.TOO_MUCH)

    def test_for_requests_in_flight(self):
        client = self.client()
        client.send(vu.SET_INFLIGHT_FD, vu.inflight(2 << 40), [self.file(2 << 40)])
        self.refused(client, self.TOO_MUCH)

    @bench.unittest.skipIf("thread" in bench.BUILD, "a thread sanitizer leaves too few addresses")
    def test_given_back_it_counts_no_more(self):
        client = self.client()
        fd = self.file(1 << 40)
        for _ in range(3):
            client.tell(vu.ADD_MEM_REG, u64(0) + region(0, 1 << 40), [fd])
            client.tell(vu.REM_MEM_REG, u64(0) + region(0, 1 << 40))

    @bench.unittest.skipIf("thread" in bench.BUILD, "a thread sanitizer leaves too few addresses")
    def test_every_client_has_as_much(self):
        clients = [self.client() for _ in range(60)]
        fd = self.file(1 << 40)
        for client in clients:
            client.tell(vu.ADD_MEM_REG, u64(0) + region(0, 1 << 40), [fd])
        with self.connect() as device:
            device.ring.read(0)


class HowMuchIsAllowed(OfClients):
    options = ("--max-client-memory", "4M")

    def test_as_the_option_says(self):
        client = self.client()
        client.tell(vu.ADD_MEM_REG, u64(0) + region(0, 4 << 20), [self.file(4 << 20)])
        client.send(vu.ADD_MEM_REG, u64(0) + region(1 << 30, 1), [self.file(1)])
        self.refused(client, HowMuch.TOO_MUCH)


class HugePages(OfClients):
    def test_no_mapping_stays(self):
        """A length that is no multiple of the huge page; none need be free to map some."""
        try:
            fd = self.file(2 * HUGE, os.MFD_HUGETLB)
        except OSError as e:
            self.skipTest(f"no huge pages: {e}")
        name = "sparse"
        for size in (HUGE + 4096, 2 * HUGE, 1):
            client = self.client()
            client.tell(vu.ADD_MEM_REG, u64(0) + region(0, size), [fd])
            self.assertEqual(len(self.mapped(name)), 1)
            client.tell(vu.REM_MEM_REG, u64(0) + region(0, size))
            self.assertEqual(self.mapped(name), [], f"{size} bytes of huge pages stay mapped")
            client.tell(vu.ADD_MEM_REG, u64(0) + region(0, size), [fd])
            client.close()
            self.assertTrue(bench.wait_until(lambda: not self.mapped(name)))


class SlowFiles(OfClients):
    def test_overlay(self):
        """Stands for FUSE, which needs a server: both are what any user may mount."""
        if not shutil.which("unshare"):
            self.skipTest("needs unshare")
        with tempfile.TemporaryDirectory() as d:
            for name in ("lower", "upper", "work", "all"):
                os.mkdir(os.path.join(d, name))
            # The mount is another namespace's: the file is had from who has it open.
            script = (f"mount -t tmpfs none {d}/upper && mkdir {d}/upper/u {d}/upper/w && "
                      f"mount -t overlay none -o lowerdir={d}/lower,upperdir={d}/upper/u,"
                      f"workdir={d}/upper/w {d}/all && truncate -s 1M {d}/all/memory && "
                      f"exec 9<>{d}/all/memory && echo here && exec sleep 60")
            with subprocess.Popen(["unshare", "-rm", "sh", "-c", script], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
                try:
                    if holder.stdout.readline() != "here\n":
                        self.skipTest("an overlay cannot be mounted here")
                    fd = os.open(f"/proc/{holder.pid}/fd/9", os.O_RDWR)
                finally:
                    holder.kill()
            self.addCleanup(os.close, fd)
            client = self.client()
            client.send(vu.ADD_MEM_REG, u64(0) + region(0, 1 << 20), [fd])
            self.refused(client, FUSE_LINE)

    def test_a_local_file_is_fine(self):
        with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR", "/var/tmp")) as f:
            f.truncate(1 << 20)
            memory = Memory()
            self.addCleanup(memory.close)
            client = self.client()
            client.tell(vu.ADD_MEM_REG, u64(0) + memory.region(), [f.fileno()])


if __name__ == "__main__":
    bench.main()
