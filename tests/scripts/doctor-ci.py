#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""doctor --ci: from the noise of equal arms, how many pairs a change takes; and that so many do find it."""

import argparse
import contextlib
import io
import json
import math
import unittest
from pathlib import Path

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.cli import doctor_ci
from dataplane_lib.errors import CommandLine
from dataplane_lib.stats import ranks


def result(spread, pairs=8, seed=1, p50=None):
    rng = np.random.default_rng(seed)
    runs = [{"arm": arm, "repeat": n, "metrics": {"iops": 1000 * math.exp(rng.normal(0, spread / math.sqrt(2))), **({"lat_p50_us": 50 * math.exp(rng.normal(0, p50 / math.sqrt(2)))} if p50 else {})}} for n in range(pairs) for arm in "AB"]
    return {"runs": runs, "took_s": 20.0}


class Noise(unittest.TestCase):
    def test_is_that_of_the_pairs(self):
        self.assertAlmostEqual(doctor_ci.noise(result(0.05, 4000)), 0.05, delta=0.005)

    def test_so_many_pairs_find_it_four_times_in_five(self):
        rng, number, times = np.random.default_rng(2), doctor_ci.pairs(0.04, 3), 200
        found = sum(ranks.paired(np.ones(number), np.exp(rng.normal(math.log(1.03), 0.04, number))).resolved for _ in range(times))
        self.assertTrue(0.7 <= found / times <= 0.9, (number, found))

    def test_more_noise_takes_more_pairs_and_sees_less(self):
        self.assertEqual(doctor_ci.pairs(0.001, 5), 6)
        self.assertLess(doctor_ci.pairs(0.02, 5), doctor_ci.pairs(0.1, 5))
        self.assertGreater(doctor_ci.pairs(10, 1), doctor_ci.MOST)
        self.assertLess(doctor_ci.visible(0.02), doctor_ci.visible(0.1))


class Said(unittest.TestCase):
    def examine(self, ci, spread, p50=None):
        def dataplane(argv):
            Path(argv[argv.index("--json") + 1]).write_text(json.dumps(result(spread, p50=p50)))
        out, self.data = io.StringIO(), {}
        with contextlib.redirect_stdout(out):
            code = doctor_ci.examine(argparse.Namespace(ci=ci), dataplane, self.data)
        return code, out.getvalue()

    def test_a_quiet_machine(self):
        code, text = self.examine("5", 0.005)
        self.assertEqual(code, 0)
        self.assertIn("a change of 5 % is found 4 times in 5 with 6 pairs", text)
        self.assertEqual(self.data["noise"]["pairs_needed"], 6)

    def test_one_that_sees_nothing(self):
        code, text = self.examine("5", 0.5)
        self.assertEqual(code, 4)
        self.assertRegex(text, r"would take \d+ pairs, more than the 100")

    def test_a_median_that_is_steadier(self):
        code, text = self.examine("5", 0.5, 0.005)
        self.assertEqual(code, 4)
        self.assertIn("with --fail-if 'lat_p50_us > 5%' it takes 6 pairs", text)
        self.assertNotIn("lat_p50", self.examine("5", 0.005, 0.1)[1])

    def test_a_mistake(self):
        with self.assertRaises(CommandLine):
            self.examine("soon", 0.1)


if __name__ == "__main__":
    unittest.main()
