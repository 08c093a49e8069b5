#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose truth is known get the verdict they must get, as often as they must; a false method is noticed."""

import json
import tempfile
import unittest
from pathlib import Path

import fakes
import numpy as np
from dataplane_lib.judge import selftest
from dataplane_lib.stats import ranks


class SelfTest(unittest.TestCase):
    def test_command(self):
        with tempfile.TemporaryDirectory() as tmp:
            done = fakes.dataplane("selftest", "--repetitions", "500", "--seed", "7", "--json", f"{tmp}/json")
            checks = json.loads((Path(tmp) / "json").read_text())["checks"]
        self.assertEqual((len(checks), any(c["wrong"] for c in checks)), (len(done.stdout.splitlines()) - 1, False))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("equal arms, 6 pairs", done.stdout)
        self.assertIn("all as they must be", done.stdout)

    def test_a_method_that_finds_too_much_is_noticed(self):
        """The t-less test of a beginner: is the mean more than two plain standard errors off?"""
        noise = selftest.Noise(np.random.default_rng(3))
        hits = 0
        for _ in range(1000):
            a, b = noise.pairs(6)
            d = np.log(b / a)
            hits += abs(d.mean()) > 1.96 * d.std() / np.sqrt(len(d))
        self.assertTrue(selftest.Row("too keen", hits, 1000, at_most=0.05).wrong, hits)

    def test_a_method_that_finds_too_little_is_noticed(self):
        noise = selftest.Noise(np.random.default_rng(4))
        hits = sum(ranks.paired(*noise.pairs(6, 3.0), 0.999).resolved for _ in range(200))
        self.assertTrue(selftest.Row("too shy", hits, 200, at_least=0.5).wrong, hits)
        self.assertFalse(selftest.Row("chance", 12, 200, at_most=0.05).wrong)


if __name__ == "__main__":
    unittest.main()
