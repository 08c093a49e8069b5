#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests and intervals are exact: the same as scipy's where that has them, and right by counting where not."""

import itertools
import unittest

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.stats import ranks
from scipy import stats as scipy_stats


def sample(seed, n, middle=100.0, spread=0.02):
    return middle * np.exp(np.random.default_rng(seed).normal(0, spread, n))


class Paired(unittest.TestCase):
    def by_hand(self, a, b):
        """The share of all signs of the differences that are as extreme: ranks capped at half of N."""
        d = np.log(np.asarray(b) / np.asarray(a))
        scores = np.minimum(scipy_stats.rankdata(np.abs(d)), len(d) / 2)
        seen = abs(sum(scores * np.sign(d)))
        moved = [s for s, x in zip(scores, d) if x]
        sums = [abs(sum(s * r for s, r in zip(signs, moved))) for signs in itertools.product((1, -1), repeat=len(moved))]
        return np.mean([s >= seen - 1e-9 for s in sums])

    def test_p_counts_every_sign(self):
        for seed, n in itertools.product(range(8), (6, 8, 10)):
            a, b = sample(seed, n), sample(seed + 100, n, 101)
            self.assertAlmostEqual(ranks.paired(a, b).p, self.by_hand(a, b))

    def test_ties_and_zeros(self):
        for b in ([104, 104, 104, 100, 101, 103, 103], [100] * 6 + [101], [101, 101, 101, 101, 101, 101, 101]):
            self.assertAlmostEqual(ranks.paired([100.0] * 7, b).p, self.by_hand([100.0] * 7, b))
        self.assertEqual(ranks.paired([5.0] * 7, [5.0] * 7).p, 1.0)

    def test_interval_and_test_agree(self):
        for seed in range(200):
            a, b = sample(seed, 8), sample(seed + 1000, 8, 101.5)
            found = ranks.paired(a, b)
            self.assertEqual(found.p <= 0.05, not found.low <= 0 <= found.high, seed)
            self.assertLessEqual(found.low, found.estimate)
            self.assertLessEqual(found.estimate, found.high)

    def test_six_pairs_are_the_fewest(self):
        found = ranks.paired([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
        self.assertTrue(found.resolved)
        self.assertAlmostEqual(found.p, 2 / 64)
        self.assertAlmostEqual(found.estimate, 100)
        found = ranks.paired([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
        self.assertFalse(found.resolved or found.enough)
        self.assertIn("5 pairs are too few", found.notes[0])

    def test_one_odd_run_changes_little(self):
        """It is not left out, and neither prevents a verdict nor makes one; Wilcoxon's own ranks would let it."""
        a, b = sample(1, 10, spread=0.005), sample(2, 10, 103, 0.005)
        b[3] *= 0.5
        found = ranks.paired(a, b)
        self.assertEqual(found.n, 10)
        self.assertTrue(2 < found.estimate < 4 and found.resolved, found)
        self.assertGreater(scipy_stats.wilcoxon(np.log(b / a)).pvalue, 0.05)
        b = sample(2, 10, 100, 0.005)
        b[3] *= 2
        self.assertFalse(ranks.paired(a, b).resolved)

    def test_zeros_are_compared_as_differences(self):
        found = ranks.paired([0.0] * 8, [0.5, 0.4, 0.5, 0.6, 0.5, 0.5, 0.4, 0.6])
        self.assertEqual(found.kind, "difference")
        self.assertAlmostEqual(found.estimate, 0.5)
        self.assertTrue(found.resolved)
        same = ranks.paired([0.0] * 8, [0.0] * 8)
        self.assertEqual((same.p, same.resolved), (1.0, False))

    def test_no_number_is_refused(self):
        for bad in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                ranks.paired([1, 2], [1, bad])
        with self.assertRaises(ValueError):
            ranks.paired([1, 2], [1])


class Others(unittest.TestCase):
    def test_holm(self):
        np.testing.assert_allclose(ranks.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
        np.testing.assert_allclose(ranks.holm([0.9, 0.8]), [1.0, 1.0])
        self.assertEqual(ranks.holm([]), [])

    def test_bootstrap_says_the_same_twice(self):
        a, b = sample(1, 10), sample(2, 10, 103)
        for paired in (True, False):
            low, high = ranks.bootstrap(a, b, paired)
            self.assertEqual((low, high), ranks.bootstrap(a, b, paired))
            self.assertTrue(low < 3 < high, (low, high))
            plain = ranks.bootstrap(a, b, paired, widen=False)
            self.assertLess(plain[1] - plain[0], high - low)
        with self.assertRaises(ValueError):
            ranks.bootstrap([1], [2], True)


if __name__ == "__main__":
    unittest.main()
