#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Arms are interleaved so that a linear drift adds the same to each of them."""

import unittest

import fakes  # noqa: F401
from dataplane_lib import plan
from dataplane_lib.study import Arm


def arms(names):
    return [Arm({"f": n}) for n in names]


class Order(unittest.TestCase):
    def test_there_and_back(self):
        slots = plan.schedule(arms("ABC"), 3, 0)
        self.assertEqual("".join(s.arm.values["f"] for s in slots), "ABCCBAABC")

    def test_drift_cancels(self):
        slots = plan.schedule(arms("ABCDE"), 4, 3)
        places = {}
        for slot in slots:
            if not slot.warmup:
                places.setdefault(slot.arm.values["f"], []).append(slot.number)
        self.assertEqual(len({sum(p) for p in places.values()}), 1)
        self.assertEqual({len(p) for p in places.values()}, {4})

    def test_warmup_first_and_never_counted(self):
        slots = plan.schedule(arms("AB"), 2, 3)
        self.assertEqual([s.warmup for s in slots], [True] * 3 + [False] * 4)
        self.assertEqual([s.arm.values["f"] for s in slots[:3]], ["A", "B", "A"])

    def test_directories_differ(self):
        names = [s.directory for s in plan.schedule(arms(["1/2", "1 2"]), 2, 2)]
        self.assertEqual(len(set(names)), len(names))
        self.assertFalse([n for n in names if "/" in n])


if __name__ == "__main__":
    unittest.main()
