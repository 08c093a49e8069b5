#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles come from merged histograms, and their intervals hold what differs between runs."""

import unittest
from collections import Counter

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.stats import latency, pooled

PS = (50.0, 99.0, 99.9)
# p99.9 of run()'s law with a tail of 2 %: the 95th percentile of what is four times as long.
TRUE = 4 * 20000 * np.exp(0.1 * 1.6449)


def run(rng, scale=20000, tail=0.02, count=3000, between=0.02):
    """A run whose level is its own, with a share TAIL of I/Os four times as long."""
    latency = scale * np.exp(rng.normal(0, between) + rng.normal(0, 0.1, count))
    latency[rng.random(count) < tail] *= 4
    return Counter((latency // 256 * 256).astype(int).tolist())


def runs(seed, n, **kwargs):
    rng = np.random.default_rng(seed)
    return [run(rng, **kwargs) for _ in range(n)]


class Intervals(unittest.TestCase):
    def test_the_run_is_the_unit(self):
        """The value is the median over runs of their own percentiles; what all I/Os together have is told beside it."""
        for n in (1, 3, 8):
            histograms = runs(1, n)
            total = Counter()
            for histogram in histograms:
                total.update(histogram)
            for p, found in pooled.intervals(histograms, PS).items():
                self.assertAlmostEqual(found.value, np.median([latency.percentile(h, p) for h in histograms]))
                self.assertAlmostEqual(found.merged, latency.percentile(total, p))
                self.assertTrue(found.low <= found.value <= found.high, (n, p, found))

    def test_interval_is_exact(self):
        """Six runs: from the lowest to the highest, 1 - 2/64; twelve leave two out on each side."""
        for n, cut, level in ((6, 1, 1 - 2 / 64), (12, 3, 1 - 2 * 79 / 4096)):
            found = pooled.intervals(runs(9, n), (99.0,))[99.0]
            each = sorted(latency.percentile(h, 99.0) for h in runs(9, n))
            self.assertEqual((found.low, found.high), (each[cut - 1], each[-cut]))
            self.assertAlmostEqual(found.level, level)

    def test_intervals_of_tails_hold_the_truth(self):
        """Runs 10 % apart: the interval of p99.9 holds the median of all runs that could have been in 95 %, not in 60 %."""
        held = 0
        for seed in range(150):
            found = pooled.intervals(runs(seed, 10, between=0.1, count=3000), (99.9,))[99.9]
            held += found.low <= TRUE <= found.high
        # 95 % gives 133 of 150 or less once in a thousand times.
        self.assertGreater(held, 133)

    def test_few_runs(self):
        few = pooled.intervals(runs(3, 3), PS)[99.0]
        single = [latency.percentile(h, 99.0) for h in runs(3, 3)]
        self.assertEqual((few.low, few.high), (min(single), max(single)))
        self.assertAlmostEqual(few.level, 0.75)
        self.assertIn("range of 3 runs", few.notes[0])
        one = pooled.intervals(runs(3, 1), PS)[50.0]
        self.assertTrue(one.low <= one.value <= one.high and one.low < one.high)
        self.assertIn("one run", one.notes[0])

    def test_few_ios_beyond_are_told(self):
        found = pooled.intervals(runs(4, 6, count=500), (50.0, 99.9, 99.99))
        self.assertEqual(found[50.0].notes, [])
        self.assertIn("p99.9 unreliable: fewer than 10 samples above it", found[99.9].notes[0])
        self.assertIn("p99.99 unreliable", found[99.99].notes[0])


if __name__ == "__main__":
    unittest.main()
