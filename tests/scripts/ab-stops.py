#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""When an A/B comparison ends: enough pairs, pairs made up for, an interval narrow enough, a budget spent."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.run import pairing
from dataplane_lib.stats import ranks, selftest
from dataplane_lib.model.study import Arm


def course(spread, pairs=10, until=None, budget=1e9, distance=lambda slot: 100.0, warmup=1):
    """Run the course with made-up runs, a second each; returns (slots, what meta learnt, the course)."""
    rng = np.random.default_rng(1)
    noise = selftest.Noise(rng)
    clock = [0.0]
    arms = [Arm({"arm": name}) for name in "AB"]
    plan = pairing.Plan(pairs, until, budget, warmup, 0.0, "iops")
    pairs_of = pairing.Pairs(arms, plan, {}, None, {})
    meta, slots = {"study": {}, "cpus": {}}, []
    with tempfile.TemporaryDirectory() as tmp, \
            mock.patch.object(pairing.time, "monotonic", lambda: clock[0]), \
            mock.patch.object(pairing, "load_run", lambda *_: noise.run(1e5 * np.exp(rng.normal(0, spread)),
                                                                         distance(slots[-1]))):
        for slot in pairs_of.slots(Path(tmp), meta):
            slots.append(slot)
            clock[0] += 1
    return slots, meta, pairs_of


def counted(slots):
    return "".join(s.arm.values["arm"] for s in slots if not s.warmup)


class Stops(unittest.TestCase):
    def test_as_many_as_asked_for(self):
        slots, meta, pairs = course(0.01)
        self.assertEqual(counted(slots), "ABBA" * 5)
        self.assertEqual((meta["study"]["repeats"], len(slots), pairs.expected), (10, 22, 22))
        self.assertEqual(meta["ab"]["level"], ranks.LEVEL)
        self.assertEqual(len({s.directory for s in slots}), len(slots))

    def test_pairs_that_cannot_be_compared_are_made_up_for(self):
        far = lambda slot: 400.0 if slot.number == 7 else 100.0  # noqa: E731
        self.assertEqual(len(counted(course(0.01, distance=far)[0])), 24)
        # But not for ever.
        never = lambda slot: 100.0 + 300 * (slot.arm.values["arm"] == "B")  # noqa: E731
        self.assertEqual(len(counted(course(0.01, 6, distance=never)[0])), 20)

    def test_narrow_enough(self):
        slots, meta, _ = course(0.01, until=2.0)
        many = len(counted(slots)) // 2
        self.assertIn(f"wide after {many} pairs: narrower than 2 %", meta["ab"]["stopped"])
        self.assertEqual(meta["ab"]["level"], ranks.LEVEL_UNTIL)
        more = len(counted(course(0.01, until=1.5)[0])) // 2
        self.assertTrue(10 <= many < more, (many, more))
        self.assertEqual(counted(slots), "ABBA" * (many // 2))

    def test_budget(self):
        slots, meta, _ = course(0.05, until=0.1, budget=60)
        self.assertIn("the budget is spent after", meta["ab"]["stopped"])
        self.assertTrue(56 <= len(slots) <= 60, len(slots))


if __name__ == "__main__":
    unittest.main()
