#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two modes, drift and unequal distance are told in words, and only where they are."""

import unittest

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.stats import doubts

# The published case: client and worker in step (9400) or not (6300).
TWO = [6300, 6310, 9400, 6290, 9380, 6280, 6320, 9410, 6300, 6290]


def steady(seed, n=10):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, 0.01, n))


class Modes(unittest.TestCase):
    def test_told_with_their_sizes_and_places(self):
        text = doubts.modes(TWO, "A's IOPS")
        self.assertIn("A's IOPS has two modes: 7 runs around 6.30k and 3 runs around 9.40k", text)
        self.assertIn("6 times", text)

    def test_a_jump_is_no_mode(self):
        text = doubts.modes(sorted(TWO), "x")
        self.assertIn("jumped once, at run 8 of 10", text)
        self.assertNotIn("two modes", text)

    def test_one_mode(self):
        for shape in (steady(1), np.linspace(900, 1100, 12), [1000, 1001, 999, 1002, 1000, 998, 1001, 500]):
            self.assertEqual(doubts.modes(shape, "x"), "")

    def test_neighbouring_bins_are_no_modes(self):
        self.assertEqual(doubts.modes([1000, 1016] * 5, "x"), "")
        self.assertIn("two modes", doubts.modes([1000, 1100] * 5, "x"))

    def test_too_few_to_say(self):
        self.assertEqual(doubts.modes(TWO[:7], "x"), "")


class Drift(unittest.TestCase):
    def test_told_with_size_and_direction(self):
        text = doubts.drift(steady(2) * np.linspace(1, 0.9, 10), "A's IOPS")
        self.assertIn("A's IOPS drifted", text)
        self.assertIn(", -4.6 % (", text)
        self.assertIn("rank correlation with time -", text)

    def test_none(self):
        self.assertEqual(doubts.drift(steady(3), "x"), "")
        self.assertEqual(doubts.drift([5.0] * 10, "x"), "")


class Distance(unittest.TestCase):
    def test_unequal_arms(self):
        text = doubts.distance([57] * 8, [128] * 8, [0.1] * 8)[0]
        self.assertIn("A 57 ns, B 128 ns", text)
        self.assertIn("may be due to that", text)
        self.assertEqual(doubts.distance([57] * 8, [58] * 8, [0.1] * 8), [])

    def test_small_and_steady(self):
        a = [57.0 + i % 3 for i in range(10)]
        self.assertIn("small but steady", doubts.distance(a, [x * 1.1 for x in a], [0.0] * 10)[0])

    def test_a_difference_that_follows_it(self):
        far = np.linspace(-0.2, 0.2, 10)
        texts = doubts.distance([100.0] * 10, list(100 * np.exp(far)), list(-far))
        self.assertTrue(any("follows" in t and "-1.00" in t for t in texts), texts)

    def test_not_measured(self):
        self.assertEqual(doubts.distance([None] * 8, [None] * 8, [0.1] * 8), [])


if __name__ == "__main__":
    unittest.main()
