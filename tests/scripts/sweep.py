#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A whole sweep with made-up programs: what is run, kept and reported."""

import csv
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.read import store


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.tmp.cleanup)
        directory = Path(cls.tmp.name)
        cls.env = fakes.install(directory)
        cls.out = directory / "out"
        cls.done = fakes.dataplane(
            "sweep", str(directory / "job.fio"), "--vary", "poll-max-ns=0,4096,16384", "--set", "bs=4k",
            "--target", "--poll adaptive --poll-max-ns 7", "--baseline", "poll=off", "--runtime", "0.5",
            "--repeats", "2", "--warmup", "1", "--keep-raw", "--out", str(cls.out), env=cls.env)
        assert cls.done.returncode == 0, cls.done.stderr
        cls.result = json.loads((cls.out / "result.json").read_text())

    def test_figures(self):
        found = {a["name"]: a for a in self.result["arms"]}
        self.assertAlmostEqual(found["poll=off"]["metrics"]["iops"]["value"], 25000)
        self.assertAlmostEqual(found["poll-max-ns=16384"]["change"]["iops"], 100)
        self.assertAlmostEqual(found["poll-max-ns=4096"]["metrics"]["lat_p50_us"]["value"], 40, delta=0.5)
        self.assertEqual({a["runs"] for a in found.values()}, {2})
        self.assertTrue(found["poll=off"]["baseline"])

    def test_raw_is_kept(self):
        runs = sorted((self.out / "raw").iterdir())
        self.assertEqual(len(runs), 1 + 4 * 2)
        for run in runs:
            for name in ("fio.json", "target-stats.json", "cpu.json", "run.json"):
                self.assertTrue((run / name).exists(), f"{run.name}/{name}")
        record = json.loads((next(run for run in runs if run.name.endswith("-0-2")) / "run.json").read_text())
        distance = 100 if len(os.sched_getaffinity(0)) > 1 else None
        self.assertEqual(record["rtt"], {"before": distance, "after": distance})
        self.assertIn("--poll-max-ns 0", record["target"])
        self.assertNotIn("--poll-max-ns 7", record["target"])
        self.assertIn("--poll adaptive", record["target"])
        self.assertEqual(record["environment"]["bs"], "4k")

    def test_one_file(self):
        """What the runs left is in one file, and that alone gives the report again."""
        place = Path(self.tmp.name) / "alone"
        place.mkdir()
        shutil.copy(self.out / store.FILE, place)
        again = fakes.dataplane("report", str(place), env=self.env)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.splitlines()[:-1], self.done.stdout.splitlines()[:-1])
        found = store.load(place)
        self.assertEqual((found.header["schema"], found.header["version"], len(found.runs)), (store.SCHEMA, store.VERSION, 9))
        for run in found.counted():
            self.assertEqual(run.facts["place"], 1 + sum(r.repeat == run.repeat and r.facts["number"] < run.facts["number"] for r in found.counted()))

    def test_order(self):
        runs = fakes.runs(self.out)
        counted = [r["arm"] for r in runs if not r["warmup"]]
        # Which order is drawn is for order.py; every arm has its run in each round.
        self.assertEqual(sorted(counted[:4]), sorted(counted[4:]))
        self.assertEqual(len(set(counted)), 4)

    def test_terminal(self):
        text = fakes.unwrapped(self.done.stdout)
        self.assertIn("Better from poll-max-ns=16384 on: +100 % IOPS", text)
        self.assertIn(f"report: {self.out.resolve() / 'report.html'}", text)
        self.assertFalse([line for line in self.done.stdout.splitlines() if not line.startswith("report: ") and len(line) > 80])
        self.assertEqual(self.done.stdout.splitlines()[1][:40], "device: null without delay (the target's")
        self.assertIn("left", self.done.stderr)
        self.assertIn("dataplane: 4 arms, 9 runs of about 1.3 s: about 12s", self.done.stderr)
        self.assertNotIn("\r", self.done.stderr)

    def test_csv(self):
        with open(self.out / "result.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 4)
        self.assertEqual([r["baseline"] for r in rows], ["1", "0", "0", "0"])
        self.assertEqual(float(rows[3]["iops"]), 50000)

    def test_page_is_self_contained(self):
        page = (self.out / "report.html").read_text()
        self.assertIn("<svg", page)
        self.assertNotIn("<?xml", page)
        for outside in ("<img", "<link", "src=", "@import", "url(http"):
            self.assertNotIn(outside, page)
        self.assertIn("Better from poll-max-ns=16384 on", page)
        self.assertTrue((self.out / "plot.png").read_bytes().startswith(b"\x89PNG"))

    def test_out_is_not_overwritten(self):
        done = fakes.dataplane("sweep", str(Path(self.tmp.name) / "job.fio"), "--vary", "poll-max-ns=0",
                               "--set", "bs=4k", "--out", str(self.out), env=self.env)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--out", done.stderr)


if __name__ == "__main__":
    unittest.main()
