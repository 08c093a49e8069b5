#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A job file of the user's own runs as it is: a copy gets our engine, a time and what a comparison needs; fio takes every copy."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib import paths
from dataplane_lib.errors import Refused
from dataplane_lib.model import job_copy, jobfile

HOSTED = {"hosted": True}
DISK = "[global]\nioengine=libaio\nfilename=/dev/vdb\ndirect=1\n"
# What is tried, the job, what is wanted, (options of its first section, options that it has not).
MADE = {
    "mixed": (DISK + "rw=randrw\nrwmixread=70\nsize=1G\ncpus_allowed=0\n[a]\niodepth=4\n[b]\n", HOSTED,
              {"ioengine": "external:${FIO_DATAPLANE}/engines/vhost-user-blk.so", "socket": "${socket}", "rw": "randrw", "rwmixread": "70", "size": "1G",
               "iodepth": "4", "lat_percentiles": "1", "time_based": "1", "runtime": "${runtime}", "ramp_time": "${ramp}"},
              {"filename", "direct", "cpus_allowed"}),
    "nbd": (DISK + "rw=read\n[a]\n", {"engine": "nbd"}, {"ioengine": "external:${FIO_DATAPLANE}/engines/nbd.so", "uri": "${uri}"}, {"filename"}),
    "virtio-poll": (DISK + "rw=read\n[a]\n", {"engine": "virtio-poll"}, {"transport": "vhost-user", "socket": "${socket}"}, {"filename"}),
    "engine's own options": ("[a]\nioengine=io_uring\nhipri=1\nfixedbufs=1\nregisterfiles=1\nrw=read\niodepth=8\n", HOSTED, {"iodepth": "8"},
                             {"hipri", "fixedbufs", "registerfiles"}),
    "an engine that waits": ("[a]\nioengine=psync\nrw=read\niodepth=32\n", HOSTED, {"iodepth": "1"}, set()),
    "no engine": ("[a]\nrw=read\niodepth=32\nfilesize=64m\ndirectory=/tmp\nnrfiles=4\n", HOSTED, {"iodepth": "1", "size": "64m"}, {"directory", "nrfiles", "filesize"}),
    "times of its own": (DISK + "rw=read\nruntime=60\nramp_time=5\n[a]\n", HOSTED, {"runtime": "60", "ramp_time": "5", "time_based": "1"}, set()),
    "a shorter time": (DISK + "rw=read\nruntime=60\n[a]\n", {**HOSTED, "runtime": 1.0}, {"runtime": "${runtime}"}, set()),
    "an end of its own": (DISK + "rw=read\nnumber_ios=100\nloops=3\n[a]\n", HOSTED, {"runtime": "${runtime}"}, {"number_ios", "loops"}),
    "no latencies": (DISK + "rw=read\ngtod_reduce=1\nwrite_lat_log=x\n[a]\n", HOSTED, {"lat_percentiles": "1"}, {"gtod_reduce", "write_lat_log"}),
    "verify": (DISK + "rw=write\nverify=crc32c\nsize=8m\n[a]\n", HOSTED, {"verify": "crc32c", "size": "8m"}, {"runtime", "time_based", "ramp_time"}),
    "verify, files each": ("[a]\nioengine=libaio\nrw=write\nverify=crc32c\nsize=8m\nnumjobs=2\n", HOSTED, {"offset_increment": str(8 << 20)}, {"runtime"}),
    "an iolog": (DISK + "read_iolog=x\n[a]\n", HOSTED, {"read_iolog": "x"}, {"runtime", "time_based"}),
    "only [global]": (DISK + "rw=read\n", HOSTED, {"rw": "read", "runtime": "${runtime}"}, {"filename"}),
    "a choice": (DISK + "rw=read\n[x]\nioengine=cpuio\n[a]\n[b]\nstonewall\n", {**HOSTED, "sections": ["a"]}, {"rw": "read"}, {"stonewall"}),
    "what is varied": (DISK + "rw=read\nblocksize=8k\n[a]\niodepth=4\n", {**HOSTED, "free": ["iodepth", "bs"]}, {"iodepth": "${iodepth}", "bs": "${bs}"}, set()),
    "engines each": ("[global]\nrw=read\niodepth=8\n[a]\nioengine=psync\n[b]\nioengine=libaio\n", HOSTED, {"iodepth": "1"}, set()),
    "variables": ("[a]\nioengine=libaio\nrw=read\nsize=${X}\nio_size=2*$mb_memory\nfilename=${Y}\n", HOSTED, {"size": "${X}", "io_size": "2*$mb_memory"}, {"filename"}),
    "ours": ("[a]\nioengine=external:${FIO_DATAPLANE}/engines/vhost-user-blk.so\nsocket=${socket}\nrw=read\n", {}, {"lat_percentiles": "1", "runtime": "${runtime}"}, set()),
    "no target": (DISK + "rw=read\n[a]\n", {}, {"ioengine": "libaio", "filename": "/dev/vdb", "direct": "1", "lat_percentiles": "1"}, set()),
}


class OwnJob(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)

    def load(self, text):
        path = self.dir / "my.fio"
        path.write_text(text)
        return jobfile.load(path)

    def test_copies(self):
        for what, (text, wanted, has, lacks) in MADE.items():
            with self.subTest(what):
                copy = job_copy.made(self.load(text), job_copy.Wanted(**wanted)).job
                first = copy.sections[0]
                self.assertEqual({k: first.get(k) for k in has}, has)
                self.assertEqual({k for k in lacks if first.option(k)}, set())
                values = {"FIO_DATAPLANE": str(paths.dataplane_dir()), "socket": "s", "uri": "nbd://x", "runtime": "1s", "ramp": "0", "X": "1m", "Y": "y",
                          "iodepth": "2", "bs": "4k"}
                done = subprocess.run(["fio", "--parse-only", "-"], input=copy.filled(values).text, text=True, capture_output=True, check=False, cwd=self.dir)
                self.assertEqual(done.returncode, 0, copy.text + done.stderr)
                # A copy needs no other.
                again = job_copy.made(copy, job_copy.Wanted(**{**wanted, "free": [], "sections": []}))
                self.assertEqual(again.job.lines, copy.lines)
        second = job_copy.made(self.load(MADE["engines each"][0]), job_copy.Wanted(hosted=True)).job.sections[1]
        self.assertEqual(second.get("iodepth"), "8")

    def test_all_that_is_in_the_way(self):
        text = "[a]\nioengine=cpuio\ncpuload=50\n[b]\nioengine=libaio\nzonemode=zbd\nzonesize=1m\n[c]\nstonewall\ncreate_only=1\n"
        with self.assertRaises(Refused) as caught:
            job_copy.made(self.load(text), job_copy.Wanted(hosted=True))
        said = str(caught.exception).splitlines()
        self.assertEqual(len(said), 4, said)
        for word, line in zip(("ioengine=cpuio does no I/O", "zonemode=zbd", "create_only", "[c] waits for those before it (stonewall); choose with --section: a, b, c"), said):
            self.assertIn(word, line)

    def test_size(self):
        copy = job_copy.made(self.load(DISK + "rw=read\nsize=3g\noffset=1g\noffset_increment=1g\nnumjobs=2\n[a]\n"), job_copy.Wanted(hosted=True))
        self.assertEqual(copy.bytes, 5 << 30)

    def test_sweep(self):
        """The whole way, with real fio: what was changed is a line, the answer a table, and the job file and its folder stay as they were."""
        (self.dir / "my.fio").write_text(DISK + "rw=randrw\nrwmixread=70\nsize=${MINE}\n[db]\niodepth=2\n")
        env = {**os.environ, "MINE": "2g"}
        run = lambda *more: subprocess.run([str(fakes.DATAPLANE), "sweep", "my.fio", "--vary", "poll=off,busy", *more], cwd=self.dir, env=env, text=True,  # noqa: E731
                                           capture_output=True, check=False)
        shown = run("--diff")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("\n-ioengine=libaio\n", shown.stdout)
        self.assertIn("\n+lat_percentiles=1\n", shown.stdout)
        done = run("--runtime", "0.5", "--ramp", "0", "--repeats", "1", "--warmup", "0", "--out", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("my.fio: copy with ioengine=vhost-user-blk (was libaio), lat_percentiles=1, time_based=1, runtime=0.5s (was size=${MINE} once), ramp_time=0s; "
                      "without direct, filename", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^busy +\d")
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["my.fio", "out"])


if __name__ == "__main__":
    if not shutil.which("fio"):
        print("SKIP: needs fio")
        sys.exit(77)
    unittest.main()
