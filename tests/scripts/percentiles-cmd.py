#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane percentiles: figures from merged bins with intervals over runs, over each other and over time."""

import json
import re
import shutil
import statistics
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import fakes
import made_up
from dataplane_lib.stats import latency
from dataplane_lib import units
from dataplane_lib.read import fiojson, latency_logs, store
from dataplane_lib.report import percentiles, percentiles_plot
from dataplane_lib.errors import RunFailed


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(tmp.cleanup)
        cls.dir = Path(tmp.name)
        arms = made_up.arms({"x": "1"}, {"x": "2"})
        cls.one = made_up.write(cls.dir / "one", arms, lambda i: 50 * (i + 1), runs=8, jobs=2, logs="hist")
        cls.other = made_up.write(cls.dir / "other", arms, lambda i: 70, runs=1, ios=50000)

    def said(self, *args, status=0):
        done = fakes.dataplane("percentiles", *map(str, args))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def runs(self, place, arm):
        return [fiojson.bins(fiojson.load(path.parent / "fio.json")) for path in (place / "raw").glob("*/run.json")
                if json.loads(path.read_text())["arm"] == arm]

    def merged(self, place, arm):
        out = Counter()
        for histogram in self.runs(place, arm):
            out.update(histogram)
        return out

    def test_one_result(self):
        text = self.said(self.one)
        self.assertIn(f"A  x=1: 8 runs, {sum(self.merged(self.one, 'x=1').values())} I/Os", text)
        for p in (50, 99, 99.9):
            row = re.search(rf"^ *p{p:g} +(\S+ \S+) \[(\S+ \S+), (\S+ \S+)\]", text, re.M)
            value, low, high = (units.leading(v) / 1000 for v in row.groups())
            each = [latency.percentile(h, p) / 1000 for h in self.runs(self.one, "x=1")]
            self.assertAlmostEqual(value, statistics.median(each), delta=0.01 * value)
            self.assertTrue(low <= value <= high)
        # 2 x 8 x 20000 I/Os leave 3 beyond 99.999 %.
        self.assertRegex(text, r"p99\.999 +- \(3\.\d above\)")
        self.assertIn("A, B: p99.999 left out: fewer than 10 samples above (p99.999 needs 1,000,000 I/Os)", text)
        for name in ("percentiles", "percentiles-time"):
            self.assertTrue((self.one / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
            svg = (self.one / f"{name}.svg").read_text()
            self.assertIn("<title>x=2", svg)
            self.assertNotIn("p99.999:", svg)

    def test_too_many_arms(self):
        """Those of all results are named, so that one can choose."""
        text = self.said(*[self.one, self.other] * 3, status=2)
        self.assertIn("12 arms are more than the 8", text)
        for arm in ("x=1", "x=2"):
            for place in (self.one, self.other):
                self.assertRegex(text, rf"{place}: {arm}")

    def test_several_results(self):
        text = self.said(self.one, self.other, "--arm", "*=2", "-o", self.dir / "both.svg")
        self.assertIn("A  one: x=2: 8 runs", text)
        self.assertIn("B  other: x=2: 1 run,", text)
        self.assertIn("B: one run: the interval does not cover how runs differ", text)
        svg = (self.dir / "both.svg").read_text()
        self.assertTrue("one: x=2" in svg and "other: x=2" in svg and "x=1" not in svg)
        self.assertTrue((self.dir / "both.png").exists())

    def test_one_job(self):
        text = self.said(self.one, "--arm", "x=1", "--job", "j1", "--out", self.dir / "job")
        ios = sum(j["read"]["total_ios"] for path in (self.one / "raw").glob("*x-1-*/fio.json")
                  for j in json.loads(path.read_text())["jobs"] if j["jobname"] == "j1")
        self.assertIn(f" {ios} I/Os", text)

    def test_no_logs(self):
        self.assertIn("write_hist_log", self.said(self.other, "-o", self.dir / "few"))
        self.assertFalse((self.dir / "few-time.svg").exists())

    def test_refused(self):
        many = made_up.write(self.dir / "many", made_up.arms(*({"x": str(n)} for n in range(9))), lambda i: 50, runs=1, ios=1000)
        for word, *args in (("x=1, x=2", self.one, "--arm", "x=3"), ("it has j0, j1", self.one, "--job", "no"), ("choose with --arm", many),
                            ("result not found", self.dir), ("No such file", self.other, "-o", self.dir / "no" / "such")):
            text = self.said(*args, status=2)
            self.assertIn(word, text)
            self.assertEqual(text.count("\n"), 1)


class Logs(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)

    def curve(self, kind, job=None):
        place = made_up.write(self.dir / kind, made_up.arms({"x": "1"}), lambda i: 50, runs=2, jobs=2, logs=kind)
        result = {"runs": [{"arm": "x=1", "directory": d.name} for d in sorted((place / "raw").iterdir())]}
        return percentiles.of_arms(result, [{"name": "x=1"}], store.load(place).by_name(), job)[0]

    def test_histograms(self):
        """All windows together are the run, but for the width of the bins."""
        for job in (None, "j0"):
            curve = self.curve("hist", job)
            shutil.rmtree(self.dir / "hist")
            for log, histogram in zip(curve.logs, curve.histograms):
                self.assertEqual((log.kind, log.means, log.step, len(log.windows)), ("clat", False, 100, 20))
                total = sum(log.windows, Counter())
                self.assertEqual(sum(total.values()), sum(histogram.values()))
                for p in (50, 99, 99.9):
                    whole = latency.percentile(histogram, p)
                    self.assertAlmostEqual(latency.percentile(total, p), whole, delta=0.016 * whole)

    def test_an_io_a_line(self):
        curve = self.curve("lat")
        for log, histogram in zip(curve.logs, curve.histograms):
            self.assertEqual((log.kind, log.means), ("lat", False))
            # In a result they are in fio's bins.
            binned = Counter()
            for ns, count in histogram.items():
                binned[latency_logs.value(made_up.bin_of(ns))] += count
            self.assertEqual(sum(log.windows, Counter()), binned)

    def test_means(self):
        curve = self.curve("mean")
        self.assertTrue(all(log.means and len(log.windows) == 20 for log in curve.logs))
        middle = [y for _, y, _, _ in percentiles_plot._series(curve, None)]
        histogram = sum(map(Counter, curve.histograms), Counter())
        mean = sum(k * v for k, v in histogram.items()) / sum(histogram.values()) / 1000
        self.assertAlmostEqual(sum(middle) / len(middle), mean, delta=0.01 * mean)

    def test_windows_of_few_ios_are_left_out(self):
        curve = self.curve("hist")
        # 2 runs x 2 jobs x 1000 I/Os in a window: 40 beyond p99, 4 beyond p99.9.
        self.assertEqual(len(percentiles_plot._series(curve, 99.0)), 20)
        self.assertEqual(percentiles_plot._series(curve, 99.9), [])

    def test_broken(self):
        doc = {"jobs": [{"jobname": "j", "read": {"total_ios": 1}}]}
        (self.dir / "job_lat.1.log").write_text("1, 2, three\n")
        with self.assertRaisesRegex(RunFailed, "is not a line of a latency log"):
            latency_logs.load(self.dir, doc)
        (self.dir / "job_lat.1.log").write_text("")
        self.assertIsNone(latency_logs.load(self.dir, doc))

    def test_empty_histograms_are_no_log(self):
        """As fio writes them where a job says clat_percentiles=0."""
        doc = {"jobs": [{"jobname": "j", "read": {"total_ios": 1}}]}
        (self.dir / "job_clat_hist.1.log").write_text("".join(f"{n * 100}, 0, 4096{', 0' * 1856}\n" for n in (1, 2, 3)))
        self.assertIsNone(latency_logs.load(self.dir, doc))
        (self.dir / "job_lat.1.log").write_text("100, 5, 0, 0, 0\n200, 6, 0, 0, 0\n")
        self.assertEqual(latency_logs.load(self.dir, doc)["kind"], "lat")

    @unittest.skipUnless(shutil.which("fio"), "no fio")
    def test_of_fio(self):
        """What fio itself writes: its bins have the values of its json+, and hold the run but for its end."""
        subprocess.run(["fio", "--name=j", "--ioengine=null", "--size=1g", "--bs=4k", "--rw=randrw", "--runtime=2", "--time_based",
                        "--thinktime=20", "--clat_percentiles=1", "--lat_percentiles=1", "--output-format=json+", "--output=o.json",
                        "--write_hist_log=job", "--log_hist_msec=200", "--log_unix_epoch=1"], cwd=self.dir, check=True)
        doc = fiojson.load(self.dir / "o.json")
        log = latency_logs.log(latency_logs.load(self.dir, doc))
        self.assertEqual(log.kind, "clat")
        self.assertAlmostEqual(log.step, 200, delta=60)
        known = {int(k) for way in ("read", "write") for k in doc["jobs"][0][way]["clat_ns"]["bins"]}
        seen = sum(log.windows, Counter())
        self.assertLessEqual(set(seen), known)
        self.assertGreater(sum(seen.values()), 0.5 * fiojson.total_ios(doc))


if __name__ == "__main__":
    unittest.main()
