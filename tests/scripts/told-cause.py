#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the real target and the real fio refuse is told in their own words, and the example job runs."""

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import fakes

BUILD = Path(os.environ.get("FIO_DATAPLANE") or fakes.ROOT / os.environ.get("B", "build")).resolve()
JOB = str(fakes.ROOT / "jobfiles" / "example.fio")


class Cause(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.out = Path(tmp.name) / "out"

    def sweep(self, *args):
        return fakes.dataplane("sweep", JOB, *args, "--runtime", "0.5", "--ramp", "0.1", "--warmup", "0", "--repeats", "1",
                               "--out", str(self.out), env={**os.environ, "FIO_DATAPLANE": str(BUILD)})

    def test_target(self):
        """Options, their values, and what must hold between them, without a run."""
        for args, words in ((("--vary", "frob=1,2"), "has no ${frob}, and vhost-user-blk-target has no --frob"),
                            (("--vary", "poll=off,often"), "--poll: 'often' is not one of off, busy"),
                            (("--vary", "poll=off", "--target", "--size 1000"), "--size: 1000 is not a multiple")):
            done = self.sweep("--set", "wait_mode=block", *args)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertFalse(self.out.exists())

    def test_fio(self):
        done = self.sweep("--vary", "wait_mode=seldom")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed parsing wait_mode=seldom; valid values: block, poll, adaptive (", done.stderr)

    def test_example(self):
        done = self.sweep("--vary", "wait_mode=block,poll")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.out / "report.html").exists())


if __name__ == "__main__":
    if not shutil.which("fio") or not (BUILD / "engines" / "vhost-user-blk.so").exists():
        print("SKIP: needs fio and a build")
        sys.exit(77)
    unittest.main()
