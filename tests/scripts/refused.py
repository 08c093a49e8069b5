#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A run in which anything failed fails the study, and report refuses its result."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import fakes
from dataplane_lib import files
from dataplane_lib.read import store

# What goes wrong, and a word of the reason that must be given.
FIO = {"exit": "made-up trouble", "job-error": "error is 5", "total-err": "total_err is 2",
       "no-json": "not JSON", "kill-target": "target ended during the run"}
TARGET = {"refuse": "made-up refusal", "errors": "with an error",
          "exit": "exit status 4", "short": "the target served 0"}


class Refused(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.dir = Path(self.tmp.name)
        self.env = fakes.install(self.dir)

    def sweep(self, out, *more, **env):
        return fakes.dataplane("sweep", str(self.dir / "job.fio"), "--vary", "poll-max-ns=0,1", "--set", "bs=4k",
                               "--runtime", "0.5", "--repeats", "1", "--warmup", "0", "--out", str(out), *more,
                               env={**self.env, **env})

    def check(self, variable, mode, reason):
        out = self.dir / f"{variable}-{mode}"
        done = self.sweep(out, **{variable: mode})
        self.assertEqual(done.returncode, 3, mode)
        last = done.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("dataplane: ") and reason in last, f"{mode}: {last}")
        self.assertIn("Not a result", (out / "report.html").read_text(), mode)
        again = fakes.dataplane("report", str(out), env=self.env)
        self.assertEqual(again.returncode, 3, mode)
        self.assertIn("refused", again.stderr)

    def test_fio(self):
        for mode, reason in FIO.items():
            with self.subTest(mode):
                self.check("FAKE_FIO", mode, reason)

    def test_target(self):
        for mode, reason in TARGET.items():
            with self.subTest(mode):
                self.check("FAKE_TARGET", mode, reason)

    def test_spoilt_afterwards(self):
        """A good result is refused once its raw files hold an error, or one is gone."""
        out = self.dir / "good"
        self.assertEqual(self.sweep(out, "--keep-raw", FAKE_FIO="log").returncode, 0)
        (out / store.FILE).unlink()
        self.assertEqual(fakes.dataplane("report", str(out), env=self.env).returncode, 0)
        (out / store.FILE).unlink()
        path = next((out / "raw").glob("*/fio.json"))
        text = path.read_text()
        doc = json.loads(text[text.index("{"):])
        doc["jobs"][0]["error"] = 110
        path.write_text(json.dumps(doc))
        done = fakes.dataplane("report", str(out), env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn("error is 110", done.stderr)
        path.unlink()
        done = fakes.dataplane("report", str(out), env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no result", done.stderr)

    def test_disk_full(self):
        """Nothing more can be written: a line that says where, and nothing that looks whole."""
        for limit in (500, 6000):
            with self.subTest(limit):
                out = self.dir / f"full-{limit}"
                done = subprocess.run(["prlimit", f"--fsize={limit}", str(fakes.DATAPLANE), "sweep",
                                       str(self.dir / "job.fio"), "--vary", "poll-max-ns=0,1", "--set", "bs=4k", "--runtime", "0.5",
                                       "--repeats", "1", "--warmup", "0", "--out", str(out)],
                                      env=self.env, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr.splitlines()[-1], f"^dataplane: .*{out}.*File too large", done.stderr)
                page = out / "report.html"
                self.assertTrue(not page.exists() or "Not a result" in page.read_text())
                self.assertEqual(list(out.rglob("*.part")), [])

    def test_again(self):
        """A study that failed is out of the way of the next one at the same place."""
        out = self.dir / "again"
        self.assertNotEqual(self.sweep(out, FAKE_FIO="exit").returncode, 0)
        done = self.sweep(out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"the failed study in {out} is now in {out}-failed", done.stderr)
        self.assertTrue((self.dir / "again-failed" / "meta.json").exists())

    def test_places(self):
        """A TMPDIR too long for sockets, an --out that is not UTF-8, and what a killed one has left behind."""
        long = self.dir / ("x" * 119)
        long.mkdir()
        out = Path(os.fsdecode(os.fsencode(self.dir / "o") + b"\xff"))
        left = Path("/tmp") / "dataplane-4194305-gone"
        left.mkdir(exist_ok=True)
        done = subprocess.run([str(fakes.DATAPLANE), "sweep", str(self.dir / "job.fio"), "--vary", "poll-max-ns=0", "--set", "bs=4k", "--runtime", "0.5",
                               "--repeats", "1", "--warmup", "0", "--out", str(out)], env={**self.env, "TMPDIR": str(long)}, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"sockets are in /tmp: the path of TMPDIR is too long", done.stderr)
        self.assertIn(b"/o\xff/report.html", done.stdout)
        for name in (store.FILE, "report.html", "result.json", "plot.png"):
            self.assertTrue((out / name).exists(), name)
        self.assertFalse(left.exists())

    def test_two_at_once(self):
        """Studies that begin at the same moment have directories of their own."""
        made, gate = [], threading.Barrier(8)

        def make():
            gate.wait()
            made.append(files.new_directory(self.dir, "x"))
        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(made)), 8)

    def test_stopped(self):
        """SIGTERM ends both programs and leaves a result that says it is none."""
        out = self.dir / "stopped"
        proc = subprocess.Popen([str(fakes.DATAPLANE), "sweep", str(self.dir / "job.fio"), "--vary", "poll-max-ns=0,1",
                                 "--set", "bs=4k", "--runtime", "30", "--out", str(out)],
                                env=self.env, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + 10
        while not list(out.glob("raw/*/fio.err")):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)
        time.sleep(0.3)
        proc.terminate()
        self.assertIn("stopped", proc.communicate(timeout=15)[1])
        self.assertNotEqual(proc.returncode, 0)
        left = subprocess.run(["pgrep", "-f", str(self.dir)], capture_output=True, text=True, check=False)
        self.assertEqual(left.stdout, "")
        again = fakes.dataplane("report", str(out), env=self.env)
        self.assertEqual(again.returncode, 3)
        self.assertIn("interrupted", again.stderr)


if __name__ == "__main__":
    unittest.main()
