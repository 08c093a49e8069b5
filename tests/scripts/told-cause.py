#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the real target and the real fio refuse is told in their own words, and the example job runs."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.model import jobfile
from dataplane_lib.run import jobcheck
from dataplane_lib.errors import Refused

BUILD = Path(os.environ.get("FIO_DATAPLANE") or fakes.ROOT / os.environ.get("B", "build")).resolve()
JOB = str(fakes.ROOT / "jobfiles" / "example.fio")


class Cause(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.out = Path(tmp.name) / "out"

    def sweep(self, *args, job=JOB):
        return fakes.dataplane("sweep", str(job), *args, "--runtime", "0.5", "--ramp", "0.1", "--warmup", "0", "--repeats", "1",
                               "--out", str(self.out), env={**os.environ, "FIO_DATAPLANE": str(BUILD)})

    def test_target(self):
        """Options, their values, and what must hold between them, without a run."""
        for args, words in ((("--vary", "frob=1,2"), "has no ${frob}, and vhost-user-blk-target has no --frob"),
                            (("--vary", "poll=off,often"), "--poll: 'often' is not one of off, busy"),
                            (("--vary", "poll=off", "--target", "--size 1000"), "--size: 1000 is not a multiple")):
            done = self.sweep("--set", "wait_mode=block", *args)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertFalse(self.out.exists())

    def test_fio(self):
        """An arm's option or value that fio, or the engine, does not take, before the first arm has run."""
        job = Path(self.out.parent) / "job with space.fio"
        job.write_text(Path(JOB).read_text().replace("[reader]", "${more}\n[reader]"))
        for given, words in (("wait_mode=block,seldom", "wait_mode=seldom: accepted: block, poll, adaptive"),
                             ("more=thread,merge=xx", "merge=xx: fio does not accept that; expected a number such as 4k (Reads or writes of"),
                             ("more=thread,stuck_timeout=0", "stuck_timeout=0: fio does not accept that; expected a whole number, 1 to 86400 ("),
                             ("more=thread,packed=maybe", "packed=maybe: fio does not accept that; expected 0 or 1 ("),
                             ("more=thread,wait_mode=never\nbs=4z", "bs=4z: fio does not accept that; expected a whole number, 1 or more "
                              "(Block size unit); wait_mode=block or never: accepted: block, poll, adaptive"),
                             ("more=thread,merge=128k", "merge=128k: add dp_stats=${dp_stats}"),
                             ("more=thread,frob=1", "frob=1: neither fio nor the engine has such an option"),
                             ("more=thread,iodepth=0x", "iodepth=0x: fio does not accept that; expected a whole number, 1 or more (")):
            others = [w for w in ("wait_mode=block", "more=thread") if not given.startswith(w.partition("=")[0])]
            done = self.sweep("--vary", given, *(w for other in others for w in ("--set", other)), job=job)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith(f"dataplane: {job.name}: {words}"), done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertFalse(self.out.exists())

    def test_merging(self):
        """What was merged must be countable; without merging nothing is wanted."""
        job = Path(self.out.parent) / "job.fio"
        for more, merge, remote, words in (("", "4k", False, "dp_stats"), ("", "0", False, None), ("", "00k", False, None),
                                           ("dp_stats=${dp_stats}\n", "4k", False, None), ("dp_stats=/tmp/mine\n", "4k", False, "dp_stats"),
                                           ("dp_stats=${dp_stats}\n", "4k", True, "not with --client")):
            job.write_text(f"[j]\nmerge={merge}\n{more}")
            with self.subTest(more=more, merge=merge, remote=remote):
                if words is None:
                    jobcheck.check_merging(jobfile.load(job), {}, remote)
                else:
                    with self.assertRaisesRegex(Refused, words):
                        jobcheck.check_merging(jobfile.load(job), {}, remote)

    def test_engine(self):
        """No engine is told as that, not as all the options that nobody knows then."""
        job = Path(self.out.parent) / "job.fio"
        job.write_text(Path(JOB).read_text().replace("vhost-user-blk.so", "vhost-user-nix.so"))
        done = self.sweep("--vary", "wait_mode=block,poll", job=job)
        self.assertRegex(done.stderr, "invalid external ioengine path.*vhost-user-nix.so")
        self.assertNotIn("socket", done.stderr)

    def test_engine_of_another_fio(self):
        """So is one that was built for another fio, in its own words."""
        other = Path(self.out.parent) / "other.so"
        built = (BUILD / "engines" / "vhost-user-blk.so").read_bytes()
        version = subprocess.run(["fio", "--version"], capture_output=True, check=True).stdout.strip()
        other.write_bytes(built.replace(version, b"fio-" + b"9" * (len(version) - 4)))
        job = Path(self.out.parent) / "job.fio"
        job.write_text(Path(JOB).read_text().replace("external:${FIO_DATAPLANE}/engines/vhost-user-blk.so", f"external:{other}"))
        done = self.sweep("--vary", "wait_mode=block,poll", job=job)
        self.assertEqual(done.returncode, 2)
        self.assertIn("built for fio-9", done.stderr)
        self.assertNotIn("no such option", done.stderr)

    def test_embedded(self):
        """So is an option of the target inside virtio-poll."""
        job = Path(self.out.parent) / "job.fio"
        job.write_text("[j]\nioengine=external:${FIO_DATAPLANE}/engines/virtio-poll.so\nlat_percentiles=1\n"
                       "target=--backend ram --poll ${poll}\nruntime=${runtime}\nramp_time=${ramp}\n")
        done = self.sweep("--vary", "poll=off,seldom", job=job)
        self.assertIn("job.fio: target=--backend ram --poll seldom: --poll: 'seldom' is not one of off, busy", done.stderr)
        self.assertFalse(self.out.exists())

    def test_what_an_engine_finds_out(self):
        """The engine's reason is told, not what fio makes of it: at set-up, in a job's init, and when it opens its file."""
        job = Path(self.out.parent) / "job.fio"
        for engine, more, words in (("virtio-poll", "", "missing socket="), ("nbd", "", "missing uri="),
                                    ("virtio-poll", "transport=embedded\nreconnect=1", "reconnect=1 is for a device of another process"),
                                    ("virtio-poll", "transport=embedded\ndp_trace=/nowhere/trace\niodepth=2", "cannot write /nowhere/trace"),
                                    ("virtio-poll", "transport=embedded\ndirect=1\nsize=1t", "go past the end of the device")):
            job.write_text(f"[j]\nioengine=external:${{FIO_DATAPLANE}}/engines/{engine}.so\n"
                           f"{'transport=vhost-user' if engine == 'virtio-poll' and not more else ''}\n{more}\n")
            with self.subTest(engine=engine, more=more):
                done = subprocess.run(["fio", job], capture_output=True, text=True, check=False,
                                      env={**os.environ, "FIO_DATAPLANE": str(BUILD)})
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, jobcheck.told(done.stderr, job.read_text()))

    def test_example(self):
        done = self.sweep("--vary", "wait_mode=block,poll")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.out / "report.html").exists())


if __name__ == "__main__":
    if not shutil.which("fio") or not (BUILD / "engines" / "vhost-user-blk.so").exists():
        print("SKIP: needs fio and a build")
        sys.exit(77)
    unittest.main()
