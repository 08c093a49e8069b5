#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A fio job beside a crowd of bad clients sees neither an error nor a gap of a second."""

import json
import os
import shutil
import subprocess
import unittest

import bench
import vhost_user_client as vu
from vhost_user_client import Client, Device, u64

JOB = f"""[global]
ioengine=external:{bench.BUILD}/engines/vhost-user-blk.so
bs=4k
iodepth=16
size=8m
time_based
runtime=4
[verified]
socket={{socket}}
rw=randwrite
verify=crc32c
verify_backlog=64
rate=64m
"""


def loops(d):
    d.ring.desc(0, d.ring.guest(0), 16, vu.NEXT, 0)
    d.ring.post(0)


def points_outside(d):
    d.ring.desc(0, 1 << 60, 4096)
    d.ring.post(0)


def jumps(d):
    d.ring.post(0, count=9999)


def speaks_nonsense(d):
    d.client.send(77, bytes(100))


def takes_its_memory_away(d):
    d.client.send(vu.REM_MEM_REG, u64(0) + d.memory.region(), [d.memory.fd])


class BesideFio(unittest.TestCase):
    def test_fio(self):
        target = bench.Target("--iothreads", "1")
        self.addCleanup(target.close)
        job = os.path.join(target.directory.name, "job.fio")
        with open(job, "w", encoding="ascii") as f:
            f.write(JOB.format(socket=target.socket))
        fio = subprocess.Popen(["fio", "--output-format=json", job], cwd=target.directory.name,
                               stdout=subprocess.PIPE, text=True)
        self.addCleanup(fio.kill)

        dropped = 0
        while fio.poll() is None:
            for misbehave in (loops, points_outside, jumps, speaks_nonsense,
                              takes_its_memory_away):
                with Device(target.socket) as device:
                    device.ring.read(0)
                    misbehave(device)
                    self.assertTrue(device.client.dropped(), misbehave.__name__)
                    dropped += 1
                Client(target.socket).close()

        result = json.loads(fio.stdout.read())["jobs"][0]
        fio.stdout.close()
        self.assertEqual(fio.returncode, 0)
        self.assertEqual(result["error"], 0)
        self.assertGreater(result["write"]["total_ios"], 1000)
        self.assertGreater(dropped, 50)
        for direction in ("read", "write"):
            self.assertLess(result[direction]["lat_ns"]["max"], 1e9)
        self.assertEqual(target.stop(), 0)
        lines = target.new_lines()
        said = [line for line in lines if " dropped: " in line]
        self.assertEqual(len(said) + bench.lines_left_out(lines), dropped)


if __name__ == "__main__":
    # fio itself has no sanitizer in it, so an engine with one cannot be loaded.
    if bench.SANITIZED or not shutil.which("fio"):
        print("SKIP: needs fio and an engine without sanitizers")
        raise SystemExit(77)
    bench.main()
