#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles come from merged histograms, and their intervals hold what differs between runs."""

import unittest
from collections import Counter

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.stats import latency, pooled

PS = (50.0, 99.0, 99.9)


def run(rng, scale=20000, tail=0.02, count=3000, between=0.02):
    """A run whose level is its own, with a share TAIL of I/Os four times as long."""
    latency = scale * np.exp(rng.normal(0, between) + rng.normal(0, 0.1, count))
    latency[rng.random(count) < tail] *= 4
    return Counter((latency // 256 * 256).astype(int).tolist())


def runs(seed, n, **kwargs):
    rng = np.random.default_rng(seed)
    return [run(rng, **kwargs) for _ in range(n)]


class Intervals(unittest.TestCase):
    def test_merged_as_fiojson_has_it(self):
        for n in (1, 3, 8):
            histograms = runs(1, n)
            total = Counter()
            for histogram in histograms:
                total.update(histogram)
            for p, found in pooled.intervals(histograms, PS).items():
                self.assertEqual(found.value, latency.percentile(total, p))
                self.assertTrue(found.low <= found.value <= found.high, (n, p, found))

    def test_differences_between_runs_are_in_it(self):
        """As many I/Os, but each run on a level of its own: the interval is far wider."""
        alike = pooled.intervals(runs(2, 8, between=0.0), PS)[50.0]
        apart = pooled.intervals(runs(2, 8, between=0.1), PS)[50.0]
        self.assertGreater(apart.high - apart.low, 4 * (alike.high - alike.low))

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
        self.assertIn("rests on 3 I/Os", found[99.9].notes[0])
        self.assertIn("longest I/O seen", found[99.99].notes[0])


class Compared(unittest.TestCase):
    def test_a_longer_tail_is_found_and_the_middle_is_not(self):
        for compare in (pooled.paired, pooled.unpaired):
            found = compare(runs(5, 10, tail=0.005), runs(6, 10, tail=0.03), PS)
            self.assertTrue(found[99.0].resolved and found[99.0].estimate > 100, found[99.0])
            self.assertFalse(found[50.0].resolved, found[50.0])

    def test_equal_arms(self):
        found = [pooled.paired(runs(s, 6), runs(s + 500, 6), PS) for s in range(60)]
        for p in PS:
            # Chance gives 9 or more of 60 once in a thousand times at 5 %.
            self.assertLess(sum(f[p].resolved for f in found), 9, p)

    def test_narrow_latencies_far_apart(self):
        """No histogram overlaps another one's: six pairs the same way round are found, five are too few."""
        found = pooled.paired([{1004: 9}] * 6, [{1112: 9}] * 6, (50.0,))[50.0]
        self.assertAlmostEqual(found.p, 2 / 64)
        self.assertAlmostEqual(found.estimate, 100 * (1112 / 1004 - 1))
        self.assertTrue(found.resolved)
        self.assertFalse(pooled.paired([{1000: 9}] * 5, [{1100: 9}] * 5, (50.0,))[50.0].resolved)


if __name__ == "__main__":
    unittest.main()
