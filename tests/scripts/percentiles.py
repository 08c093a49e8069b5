#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Latency percentiles come from merged histograms: in the bin that fio names, interpolated within it."""

import json
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.model import metrics
from dataplane_lib.read import digest, fiojson, latency_logs
from dataplane_lib.stats import latency


class Percentiles(unittest.TestCase):
    def test_uniform(self):
        """Below 128 ns a bin is one value; above, the I/Os of a bin lie evenly in it."""
        flat = Counter({v: 1 for v in range(1, 101)})
        self.assertEqual([latency.percentile(flat, p) for p in (50, 99, 99.9)], [50, 99, 100])
        flat = Counter({v: 1 for v in range(1024, 65536)})
        for p in (1, 50, 99, 99.9, 99.99):
            self.assertAlmostEqual(latency.percentile(flat, p), 1024 + 645.12 * p)

    def test_any_order_of_insertion(self):
        self.assertEqual(latency.percentile(Counter({90000: 1, 20: 50, 1000: 49}), 50), 20)

    def test_merged_is_not_averaged(self):
        """Two repeats, one with a tail of 2 %: p99 of both together is in the tail's place."""
        calm, rough = {"1000": 1000}, {"1000": 960, "90000": 40}
        merged = Counter({int(k): v for k, v in calm.items()})
        merged.update({int(k): v for k, v in rough.items()})
        # 1000 lies in the bin from 1000 to 1008, 90000 in that from 89088 to 90112.
        self.assertAlmostEqual(latency.percentile(merged, 98), 1008)
        self.assertAlmostEqual(latency.percentile(merged, 99), 89088 + 1024 / 2)
        runs = [{"metrics": {**dict.fromkeys(metrics.BY_KEY), "lat_p99_us": v}, "marks": [], "no_measurement": ""}
                for v in (1.0, 90.0)]
        arm = digest._arm({"name": "a"}, runs, {"": merged})
        self.assertEqual(arm["metrics"]["lat_p99_us"], {"value": 89.6, "min": 1.0, "max": 90.0})

    def test_order_of_bins_is_numeric(self):
        doc = {"jobs": [{"jobname": "j", "read": {"total_ios": 3, "lat_ns":
                                                   {"bins": {"9": 1, "10": 1, "100": 1}}}}]}
        self.assertEqual(latency.percentile(fiojson.bins(doc), 50), 10)

    def test_every_key_is_the_middle_of_its_bin(self):
        """The edges of a bin are those of fio: keys that fio writes are their middles, and bins leave no gap."""
        last = 128
        for index in range(128, 64 * 20):
            middle = latency_logs.value(index)
            lower, width = (int(v[0]) for v in latency.edges([middle]))
            self.assertEqual((lower, lower + width // 2), (last, middle))
            self.assertEqual([int(v) for v in latency.edges([lower + width - 1])[0]], [lower])
            last = lower + width

    def test_less_than_a_bin_is_seen(self):
        """A shift by a third of a bin shifts every percentile by as much, and not by nothing or a bin."""
        rng = np.random.default_rng(1)
        one = rng.lognormal(np.log(20000), 0.05, 200000)
        first, second = (latency.percentiles(Counter((x.astype(int) // 256 * 256 + 128).tolist()), (50, 99)) for x in (one, 1.005 * one))
        for p in (50, 99):
            self.assertAlmostEqual(second[p] / first[p], 1.005, delta=0.001)

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
                    # fio gives the middle of the bin, ours lies in the same one.
                    lower, width = latency.edges([value])
                    self.assertTrue(lower[0] <= latency.percentile(ours, float(p)) <= lower[0] + width[0], f"{way} {p}")
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
