#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Latency percentiles come from merged histograms, by fio's own rule."""

import json
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.model import metrics
from dataplane_lib.read import digest, fiojson


class Percentiles(unittest.TestCase):
    def test_uniform(self):
        flat = Counter({v: 1 for v in range(1, 1001)})
        self.assertEqual([fiojson.percentile(flat, p) for p in (50, 99, 99.9, 99.99)],
                         [500, 990, 999, 1000])

    def test_any_order_of_insertion(self):
        self.assertEqual(fiojson.percentile(Counter({90000: 1, 20: 50, 1000: 49}), 50), 20)

    def test_merged_is_not_averaged(self):
        """Two repeats, one with a tail of 2 %: p99 of both together is in the tail's place."""
        calm, rough = {"1000": 1000}, {"1000": 960, "90000": 40}
        merged = Counter({int(k): v for k, v in calm.items()})
        merged.update({int(k): v for k, v in rough.items()})
        self.assertEqual(fiojson.percentile(merged, 98), 1000)
        self.assertEqual(fiojson.percentile(merged, 99), 90000)
        runs = [{"metrics": {**dict.fromkeys(metrics.BY_KEY), "lat_p99_us": v}, "marks": [], "no_measurement": ""}
                for v in (1.0, 90.0)]
        arm = digest._arm({"name": "a"}, runs, merged)
        self.assertEqual(arm["metrics"]["lat_p99_us"], {"value": 90.0, "min": 1.0, "max": 90.0})

    def test_order_of_bins_is_numeric(self):
        doc = {"jobs": [{"jobname": "j", "read": {"total_ios": 3, "lat_ns":
                                                   {"bins": {"9": 1, "10": 1, "100": 1}}}}]}
        self.assertEqual(fiojson.percentile(fiojson.bins(doc), 50), 10)

    def test_no_bins_is_refused(self):
        doc = {"jobs": [{"jobname": "j", "read": {"total_ios": 1, "lat_ns": {}}}]}
        with self.assertRaisesRegex(fiojson.RunFailed, "lat_percentiles=1"):
            fiojson.bins(doc)

    @unittest.skipUnless(shutil.which("fio"), "no fio")
    def test_same_as_fio(self):
        """What fio prints and what its bins give agree, jobs and directions merged apart."""
        with tempfile.TemporaryDirectory() as tmp:
            out = Path(tmp) / "o.json"
            subprocess.run(["fio", "--name=j", "--ioengine=null", "--size=16m", "--bs=4k", "--rw=randrw",
                            "--lat_percentiles=1", "--clat_percentiles=0", "--output-format=json+",
                            "--percentile_list=50:99:99.9:99.99", f"--output={out}"], check=True)
            doc = fiojson.load(out)
            for way in ("read", "write"):
                part = doc["jobs"][0][way]
                ours = Counter({int(k): v for k, v in part["lat_ns"]["bins"].items()})
                for p, value in part["lat_ns"]["percentile"].items():
                    self.assertEqual(fiojson.percentile(ours, float(p)), value, f"{way} {p}")
            figures = fiojson.figures(doc)
            self.assertEqual(fiojson.total_ios(doc), 4096)
            self.assertEqual(sum(fiojson.bins(doc).values()), 4096)
            self.assertAlmostEqual(figures["iops"], sum(doc["jobs"][0][w]["iops"] for w in ("read", "write")))


class Lines(unittest.TestCase):
    def test_log_lines_before_json(self):
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp) / "o.json"
            job = {"jobname": "j", "error": 0, "read": {"total_ios": 1}}
            path.write_text("engine: a line\n" + json.dumps({"jobs": [job]}, indent=1))
            self.assertEqual(fiojson.load(path)["jobs"][0]["jobname"], "j")


if __name__ == "__main__":
    unittest.main()
