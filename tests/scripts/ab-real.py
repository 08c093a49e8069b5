#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# alone: fio and what it runs against poll
"""dataplane ab on real programs: a target that burns 1 ms a request is slower, and scripts are told."""

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.stats import ranks

BUILD = Path(os.environ.get("FIO_DATAPLANE") or fakes.ROOT / os.environ.get("B", "build")).resolve()


class Real(unittest.TestCase):
    def test_slower(self):
        """The cost is a multiple of what any distance between the CPUs adds."""
        with tempfile.TemporaryDirectory() as tmp:
            out = Path(tmp) / "out"
            done = fakes.dataplane("ab", "--a", "", "--b", "request-cost=1ms", "poll-max-ns", "--target", "--delay none",
                                   "--runtime", "0.5", "--ramp", "0.1", "--pairs", "6", "--warmup", "0",
                                   "--fail-if", "lat_mean_us > 10%", "--out", str(out),
                                   env={**os.environ, "FIO_DATAPLANE": str(BUILD)})
            self.assertIn(done.returncode, (1, 4), done.stderr)
            found = json.loads((out / "result.json").read_text())["verdict"]
            if found["pairs"] - len(found["left_out"]) < ranks.FEWEST_PAIRS:
                self.skipTest("the distance between the CPUs changed too often")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("lat mean (primary)", done.stdout)
            self.assertEqual(found["lines"][0]["word"], "slower", done.stdout)
            self.assertTrue((out / "report.html").exists())


if __name__ == "__main__":
    if not shutil.which("fio") or not (BUILD / "engines" / "vhost-user-blk.so").exists():
        print("SKIP: needs fio and a build")
        sys.exit(77)
    if len(os.sched_getaffinity(0)) < 2:
        print("SKIP: needs two CPUs")
        sys.exit(77)
    unittest.main()
