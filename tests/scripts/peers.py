#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Other people's servers as arms: started, sampled with their children, stopped; a missing one is told, not hidden."""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.read import store

JOB = """[global]
ioengine=${engine}
lat_percentiles=1
uri=${uri}
runtime=${runtime}
numjobs=${jobs}
write_iops_log=${iops_log}
log_avg_msec=${sample_ms}
[j]
"""
STUDY = """
job = "job.fio"
warmup = 0
repeats = 1
runtime = 0.5
sample = 0.1
file = "1m"
pin = false
[variables]
jobs = "4"
engine = "nbd"
[choices.server]
unix = { command = "peer $socket $file", clients = 1, stop = "INT" }
tcp = { command = "peer $port $file", uri = "nbd://127.0.0.1:$port" }
gone = { command = "no-such-server $socket" }
[factors]
server = ["unix", "tcp", "gone"]
"""


class Peers(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        (self.dir / "job.fio").write_text(JOB)
        (self.dir / "study.toml").write_text(STUDY)
        self.out = self.dir / "out"

    def run_study(self, *args, **env):
        return fakes.dataplane("run", str(self.dir / "study.toml"), "--out", str(self.out), "-v", *args,
                               env={**self.env, **env})

    def result(self):
        return {a["name"]: a for a in json.loads((self.out / "result.json").read_text())["arms"]}

    def record(self, name):
        return next(run for run in fakes.runs(self.out) if run["name"].endswith(f"-{name}-1"))

    def test_run(self):
        done = self.run_study(FAKE_FIO="turns")
        self.assertEqual(done.returncode, 0, done.stderr)
        # What is not there is said at the start and in the report.
        gone = "no-such-server is not installed: skipped server=gone."
        self.assertIn(gone, done.stderr.splitlines()[0])
        self.assertIn(gone, fakes.unwrapped(done.stdout))
        found = self.result()
        self.assertEqual(set(found), {"server=unix", "server=tcp"})
        # The child's CPU is the server's.
        self.assertGreater(found["server=unix"]["metrics"]["target_cpu"]["value"], 10)
        self.assertIn("switches_per_io", found["server=unix"]["metrics"])
        # Jobs that had to wait are no failure, are not added up, and are told.
        self.assertIn("one after another", fakes.unwrapped(done.stdout))
        self.assertAlmostEqual(found["server=unix"]["metrics"]["at_once"]["value"], 1)
        self.assertAlmostEqual(found["server=unix"]["metrics"]["iops"]["value"], 25000)
        self.assertAlmostEqual(found["server=unix"]["metrics"]["sample_sd"]["value"], 100, delta=5)
        # A file of data for both, and the signal that was asked for.
        said = (self.dir / "peer.log").read_text().splitlines()
        self.assertEqual(sorted(said), ["SIGINT", "SIGTERM", "peer file 1048576 full", "peer file 1048576 full"])
        uri = self.record("tcp")["environment"]["uri"]
        self.assertRegex(uri, r"^nbd://127\.0\.0\.1:\d+$")
        self.assertEqual(self.record("tcp")["target"].split()[1], uri.rpartition(":")[2])
        facts = store.load(self.out).header["host"]
        self.assertEqual(facts["peer"], "peer 9.8.7 (made-up)")
        # Nothing is left of it: what it had started is gone too.
        left = [p for p in os.listdir("/proc") if p.isdigit() and self.command(p).find(str(self.dir / "bin" / "peer")) >= 0]
        self.assertEqual(left, [])

    @staticmethod
    def command(pid):
        try:
            return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            return ""

    def test_another_version(self):
        other = self.dir / "old" / "peer"
        other.parent.mkdir()
        shutil.copy(self.dir / "bin" / "peer", other)
        other.write_text(other.read_text().replace("9.8.7", "1.2"))
        done = self.run_study("--peer", f"peer={other}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(self.result()), {"server=unix", "server=unix peer-1.2", "server=tcp", "server=tcp peer-1.2"})
        self.assertTrue(self.record("unix-peer-1.2")["target"].startswith(str(other)))
        self.assertEqual(store.load(self.out).header["host"][str(other)], "peer 1.2 (made-up)")

    def test_refused(self):
        for word, args in (("expected NAME=PATH", ("--peer", "peer")), ("is not a program", ("--peer", "peer=/etc/passwd")),
                           ("no arm of", ("--peer", "qemu-nbd=/bin/true"))):
            done = self.run_study(*args)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)

    def test_baseline_that_cannot_run(self):
        (self.dir / "study.toml").write_text(STUDY + '[baseline]\nserver = "gone"\n')
        done = self.run_study()
        self.assertEqual(done.returncode, 3)
        self.assertIn("is what others are compared with, and cannot run: no-such-server", done.stderr)
        # The first is the baseline where none is named, and no other takes its place.
        (self.dir / "study.toml").write_text(STUDY.replace('server = ["unix", "tcp", "gone"]', 'server = ["gone", "unix", "tcp"]'))
        done = self.run_study()
        self.assertEqual(done.returncode, 3)
        self.assertIn("server=gone: is what others are compared with, and cannot run: no-such-server", done.stderr)

    def test_nothing_to_compare(self):
        """Of two arms of ab neither may be missing."""
        (self.dir / "job.fio").write_text(fakes.JOB)
        there = f"command='{self.dir}/bin/peer $socket $file'"
        for a, b, what in ((there, "command=no-such-server", "arm=B"), ("command=no-such-server", there, "arm=A"),
                           ("command=no-such-server", "command=no-such-server", "arm=A")):
            done = fakes.dataplane("ab", "--a", a, "--b", b, str(self.dir / "job.fio"), "--set", "bs=4k", "--file", "1m", "--out", str(self.out),
                                   env=self.env)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(f"{what}: ", done.stderr)
            self.assertIn("no-such-server is not installed", done.stderr)

    def test_engine_that_this_fio_lacks(self):
        (self.dir / "study.toml").write_text(STUDY + 'engine = ["nbd", "rbd"]\n')
        done = self.run_study("--vary", "server=unix")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("this fio has no engine rbd: skipped server=unix engine=rbd.", fakes.unwrapped(done.stdout))


if __name__ == "__main__":
    unittest.main()
