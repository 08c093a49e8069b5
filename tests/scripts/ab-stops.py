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
from dataplane_lib.judge import selftest
from dataplane_lib.stats import limits, ranks, stopping
from dataplane_lib.model.study import Arm


def course(spread, pairs=10, until=None, budget=1e9, distance=lambda slot: 100.0, warmup=1, effect=0):
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
            mock.patch.object(pairing, "load_run", lambda *_: noise.run(1e5 * np.exp(rng.normal(0, spread)) * (1 + effect / 100 * (slots[-1].arm.values["arm"] == "B")),
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
        order = counted(slots)
        self.assertEqual({order[i:i + 2] for i in range(0, 20, 2)}, {"AB", "BA"})
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
        slots, meta, _ = course(0.01, until=stopping.Rule(precision=2.0))
        many = len(counted(slots)) // 2
        self.assertRegex(meta["ab"]["stopped"], f"stopped after {many} pairs: the interval is .* % wide, at most 2 %")
        self.assertEqual(meta["ab"]["level"], ranks.LEVEL_UNTIL)
        more = len(counted(course(0.01, until=stopping.Rule(precision=1.5))[0])) // 2
        self.assertTrue(10 <= many < more, (many, more))

    def test_decided(self):
        """It stops as soon as the condition holds, or cannot; without one at a difference, or within the dead band."""
        for rule, effect, why in ((stopping.Rule((limits.Limit("iops", -1, -2.0),)), -8, "the condition holds"), (stopping.Rule((limits.Limit("iops", -1, -2.0),)), 0, "the condition does not hold"),
                                  (stopping.Rule(), 8, "a difference is found"), (stopping.Rule(band=3.0), 0, "the change is within ±3 %")):
            slots, meta, _ = course(0.01, until=rule, effect=effect)
            many = len(counted(slots)) // 2
            self.assertEqual(meta["ab"]["stopped"], f"stopped after {many} pairs: {why}")
            self.assertEqual(meta["ab"]["level"], stopping.LEVEL)
            self.assertLess(many, 40)

    def test_looks_grow_apart(self):
        looks = [8]
        while looks[-1] < 100:
            looks.append(stopping.next_look(looks[-1]))
        self.assertFalse([n for n in looks if n % 2])
        self.assertLessEqual(len(looks), 13)

    def test_budget(self):
        slots, meta, _ = course(0.05, until=stopping.Rule(precision=0.1), budget=60)
        self.assertIn("undecided when the budget was spent", meta["ab"]["stopped"])
        self.assertTrue(56 <= len(slots) <= 60, len(slots))


if __name__ == "__main__":
    unittest.main()
