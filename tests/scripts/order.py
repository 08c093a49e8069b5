#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Arms are interleaved so that a linear drift adds the same to each of them."""

import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.run import order
from dataplane_lib.model.study import Arm, Study


def arms(names):
    return [Arm({"f": n}) for n in names]


class Order(unittest.TestCase):
    def test_there_and_back(self):
        slots = order.schedule(arms("ABC"), 3, 0)
        self.assertEqual("".join(s.arm.values["f"] for s in slots), "ABCCBAABC")

    def test_drift_cancels(self):
        slots = order.schedule(arms("ABCDE"), 4, 3)
        places = {}
        for slot in slots:
            if not slot.warmup:
                places.setdefault(slot.arm.values["f"], []).append(slot.number)
        self.assertEqual(len({sum(p) for p in places.values()}), 1)
        self.assertEqual({len(p) for p in places.values()}, {4})

    def test_warmup_first_and_never_counted(self):
        slots = order.schedule(arms("AB"), 2, 3)
        self.assertEqual([s.warmup for s in slots], [True] * 3 + [False] * 4)
        self.assertEqual([s.arm.values["f"] for s in slots[:3]], ["A", "B", "A"])

    def test_directories_differ(self):
        names = [s.directory for s in order.schedule(arms(["1/2", "1 2"]), 2, 2)]
        self.assertEqual(len(set(names)), len(names))
        self.assertFalse([n for n in names if "/" in n])


class Baselines(unittest.TestCase):
    """Workloads are not compared with each other, options of the target are."""

    def arms(self, factors, baseline):
        with tempfile.TemporaryDirectory() as tmp:
            job = Path(tmp) / "job.fio"
            job.write_text("bs=${bs}\nsocket=${socket}\n")
            study = Study("s", job, factors=factors, baseline=baseline)
            return {a.name: a.against for a in study.arms()}, [a.name for a in study.arms() if a.baseline]

    def test_outside(self):
        against, bases = self.arms({"poll": ["fixed"], "ns": ["1", "2"]}, {"poll": "off"})
        self.assertEqual(bases, ["poll=off"])
        self.assertEqual(set(against.values()), {"poll=off"})
        self.assertEqual(len(against), 3)

    def test_one_a_workload(self):
        against, bases = self.arms({"poll": ["fixed"], "bs": ["4k", "8k"]}, {"poll": "off"})
        self.assertEqual(bases, ["poll=off bs=4k", "poll=off bs=8k"])
        self.assertEqual(against["poll=fixed bs=8k"], "poll=off bs=8k")

    def test_first_value_is_the_default(self):
        against, bases = self.arms({"poll": ["off", "busy"], "bs": ["4k", "8k"]}, None)
        self.assertEqual(bases, ["poll=off bs=4k", "poll=off bs=8k"])
        self.assertEqual(against["poll=busy bs=4k"], "poll=off bs=4k")

    def test_only_workloads_are_compared_with_the_first(self):
        against, bases = self.arms({"bs": ["4k", "8k"]}, None)
        self.assertEqual(bases, ["bs=4k"])
        self.assertEqual(against["bs=8k"], "bs=4k")


if __name__ == "__main__":
    unittest.main()
