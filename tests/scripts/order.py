#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Arms are interleaved in an order drawn from a seed, which nothing that happens on the machine can know."""

import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.run import order
from dataplane_lib.model.study import Arm, Study


def arms(names):
    return [Arm({"f": n}) for n in names]


class Order(unittest.TestCase):
    def names(self, seed, repeats=3):
        return ["".join(s.arm.values["f"] for s in order.schedule(arms("ABCD"), repeats, 0, seed) if s.repeat == n)
                for n in range(1, repeats + 1)]

    def test_every_arm_once_a_round(self):
        slots = order.schedule(arms("ABCDE"), 4, 3, 1)
        counted = [s for s in slots if not s.warmup]
        for repeat in range(1, 5):
            here = [s for s in counted if s.repeat == repeat]
            self.assertEqual(sorted(s.arm.values["f"] for s in here), list("ABCDE"))
            self.assertEqual([s.place for s in here], [1, 2, 3, 4, 5])
        self.assertEqual([s.number for s in slots], list(range(23)))

    def test_the_seed_decides(self):
        self.assertEqual(self.names(7), self.names(7))
        self.assertNotEqual(self.names(7), self.names(8))
        self.assertGreater(len(set(self.names(7, 20))), 10)

    def test_each_place_is_as_likely(self):
        """Of two arms the first is a coin; runs of one side occur as coins have them, unlike in any fixed order."""
        coins = [order.Order(seed).round(arms("AB"))[0].values["f"] for seed in range(400)]
        # 400 fair coins give fewer than 160 or more than 240 once in 15000 times.
        self.assertTrue(160 < coins.count("A") < 240, coins.count("A"))
        drawn = order.Order(3)
        pairs = "".join(drawn.round(arms("AB"))[0].values["f"] for _ in range(400))
        self.assertTrue(160 < sum(a != b for a, b in zip(pairs, pairs[1:])) < 240)

    def test_what_is_compared_stays_together(self):
        """Two arms of a workload are neighbours in time, whatever the order of workloads."""
        made = [Arm({"w": w, "arm": arm}, against=f"w={w} arm=A") for w in "123" for arm in "AB"]
        for seed in range(20):
            found = order.Order(seed).round(made)
            self.assertTrue(all(x.against == y.against for x, y in zip(found[::2], found[1::2])))

    def test_warmup_first_and_never_counted(self):
        slots = order.schedule(arms("AB"), 2, 3, 1)
        self.assertEqual([s.warmup for s in slots], [True] * 3 + [False] * 4)
        self.assertEqual([s.arm.values["f"] for s in slots[:3]], ["A", "B", "A"])

    def test_directories_differ(self):
        names = [s.directory for s in order.schedule(arms(["1/2", "1 2"]), 2, 2, 1)]
        self.assertEqual(len(set(names)), len(names))
        self.assertFalse([n for n in names if "/" in n])


class Baselines(unittest.TestCase):
    """Workloads are not compared with each other, options of the target are."""

    def arms(self, factors, baseline):
        with tempfile.TemporaryDirectory() as tmp:
            job = Path(tmp) / "job.fio"
            job.write_text("[j]\nbs=${bs}\nsocket=${socket}\n")
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
