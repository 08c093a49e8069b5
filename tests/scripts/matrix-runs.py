#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane matrix with made-up programs: which runs are made, in which order, and what is told of them."""

import tempfile
import unittest
from pathlib import Path

import fakes

JOB = """[global]
description=${socket}
lat_percentiles=1
runtime=${runtime}
numjobs=${jobs}
rw=${rw}
[j]
"""
STUDY = """
job = "job.fio"
form = "matrix"
primary = "bw_mib"
warmup = 0
repeats = 2
runtime = 0.5
sample = 0.1
[choices.access]
reads = { variables = { rw = "read" } }
writes = { variables = { rw = "write" } }
[baseline]
poll = "off"
[factors]
access = ["reads", "writes"]
jobs = [1, 2]
poll = ["off", "fixed"]
"""


class Matrix(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        (self.dir / "job.fio").write_text(JOB)
        (self.dir / "study.toml").write_text(STUDY)
        self.out = self.dir / "out"

    def matrix(self, *args):
        done = fakes.dataplane("matrix", str(self.dir / "study.toml"), "--a", "poll=fixed", "--b", "poll=fixed poll-max-ns=16384",
                               "--out", str(self.out), *args, env=self.env)
        runs = fakes.runs(self.out) if self.out.exists() else []
        return done, ["{access}{jobs}{arm}".format(**r["values"]) + ("-" if r["warmup"] else "") for r in runs]

    def test_interleaved(self):
        done, order = self.matrix("--vary", "jobs=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Each round has every point once, and its two arms next to each other.
        for n in (0, 4):
            pairs = [(x[:-1], y[:-1]) for x, y in zip(order[n:n + 4:2], order[n + 1:n + 4:2])]
            self.assertEqual(sorted(pairs), [("reads1", "reads1"), ("writes1", "writes1")])
            self.assertEqual(sorted(order[n:n + 4]), ["reads1A", "reads1B", "writes1A", "writes1B"])
        self.assertRegex(done.stdout, r"(?m)^writes .*97\.7 +195 .*\+100\.0 \[\+(99\.9|100\.0), \+100\.[01]\]\*")
        self.assertIn("with all points judged together", fakes.unwrapped(done.stdout))
        self.assertIn("over all points (2) throughput changes by +100.0 %", fakes.unwrapped(done.stdout))
        self.assertIn("throughput differs at 2 of 2 points: ", fakes.unwrapped(done.stdout))
        self.assertIn("cpu_us_per_mib", (self.out / "result.csv").read_text())
        self.assertIn("B against A", (self.out / "report.html").read_text())

    def test_set_and_arm(self):
        """What --set says of a variable is for every workload; what an arm says of it is for that arm."""
        done, _ = self.matrix("--vary", "jobs=1", "--vary", "access=reads", "--repeats", "1", "--set", "rw=trim", "--b", "rw=randread")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = fakes.runs(self.out)
        self.assertEqual({r["values"]["arm"]: r["environment"]["rw"] for r in runs}, {"A": "trim", "B": "randread"})

    def test_protocol_of_the_original(self):
        done, order = self.matrix("--vary", "access=reads", "--vary", "jobs=1", "--runtime", "0.5", "--protocol", "original")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(" ".join(order), "reads1A- reads1A reads1A reads1B- reads1B reads1B")
        self.assertIn("throughput changes by +100.0 % to +100.0 %", fakes.unwrapped(done.stdout))
        self.assertIn("no interval and no test", fakes.unwrapped(done.stdout))

    def test_mistakes(self):
        for word, *args in (("--protocol x: unknown", "--protocol", "x"), ("--repeats cannot be combined", "--protocol", "original", "--repeats", "3"),
                            ("--short needs a [short] table", "--short"), ("job=", "--a", "job=x.fio")):
            done, _ = self.matrix(*args)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
