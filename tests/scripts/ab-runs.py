#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane ab with made-up programs: the order of runs, what is kept and said."""

import json
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.model.study import Arm
from dataplane_lib.run.order import Order


class Runs(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        self.out = self.dir / "out"
        self.log = self.dir / "log"

    def args(self, *more):
        return ("ab", "--a", "poll-max-ns=0", "--b", "--poll-max-ns 16384", str(self.dir / "job.fio"), "--set", "bs=4k",
                "--runtime", "0.5", "--pairs", "6", "--seed", "7", "--out", str(self.out), *more)

    def test_whole(self):
        done = fakes.dataplane(*self.args("--fail-if", "iops < -2%", "--set-b", f"echo set >>{self.log}",
                                         "--restore", f"echo restore >>{self.log}"), env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"IOPS \(primary\) +25\.0k +50\.0k +\+100\.0 % \(\+100\.0 % to \+100\.0 %\) p=0\.031 faster")
        self.assertIn("--fail-if iops < -2 %: no regression: B +100.0 % (95 % CI +100.0 % to +100.0 %)", fakes.unwrapped(done.stdout))
        runs = fakes.runs(self.out)
        order = [r["values"]["arm"] for r in runs]
        self.assertEqual({"".join(pair) for pair in zip(order[::2], order[1::2])}, {"AB", "BA"})
        drawn = Order(7)
        self.assertEqual(order, [arm.values["arm"] for _ in range(7) for arm in drawn.round([Arm({"arm": "A"}), Arm({"arm": "B"})])])
        self.assertEqual([r["warmup"] for r in runs], [True] * 2 + [False] * 12)
        self.assertTrue(all(("--poll-max-ns 16384" in r["target"]) == (r["values"]["arm"] == "B") for r in runs))
        self.assertEqual(self.log.read_text(), "set\nrestore\n" * 7)
        result = json.loads((self.out / "result.json").read_text())
        self.assertEqual((result["verdict"]["pairs"], result["seed"]), (6, 7))
        self.assertIn("B is 100.0 % faster than A", (self.out / "report.html").read_text())
        # A second report says the same.
        again = fakes.dataplane("report", str(self.out), env=self.env)
        self.assertEqual(again.stdout, done.stdout)


if __name__ == "__main__":
    unittest.main()
