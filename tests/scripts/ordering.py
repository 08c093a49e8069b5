#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is said about a published ordering: as published, the other way round, or cannot be told apart."""

import unittest

import fakes  # noqa: F401
from dataplane_lib.judge import ordering, summary
from dataplane_lib.model import shape
from dataplane_lib.report import table
from dataplane_lib.stats import rounds

PUBLISHED = {"source": "then", "factor": "wakeup", "order": ["sem", "cond"], "values": [1132, 1046], "unit": "MiB/s",
             "restless": "event", "steady": "sem"}


def result(runs, published=None, peer=False):
    """A digest with an arm a name of RUNS: IOPS by round; sample_sd is a tenth of the first round's, sample_max 1.1 times it."""
    arms, records = [], []
    base = {"server": "ours", "wakeup": "sem"}
    for name, values in runs.items():
        arm_values = {"server": "qemu"} if name == "qemu" else {**base, "wakeup": name}
        arm = {"name": name, "values": arm_values, "baseline": name == "sem", "against": "sem", "runs": len(values), "marked": 0,
               "metrics": {}, "change": {"iops": 100 * (values[0] / runs["sem"][0] - 1)}}
        for i, v in enumerate(values):
            records.append({"arm": name, "repeat": i + 1, "rtt": {"before": 100, "after": 100}, "metrics": {"iops": v, "sample_max": 1.1 * v, "sample_sd": v / 10}})
        middle = sorted(values)[len(values) // 2]
        for key, factor in (("iops", 1), ("sample_max", 1.1), ("sample_sd", 0.1), ("sample_mean", 1)):
            arm["metrics"][key] = {"value": factor * middle, "min": factor * min(values), "max": factor * max(values)}
        arms.append(arm)
    factors = {"server": ["ours", "qemu"] if peer else ["ours"], "wakeup": [n for n in runs if n != "qemu"]}
    return {"study": {"name": "s", "primary": "iops", "factors": factors, "baseline": base, "published": published or PUBLISHED},
            "arms": arms, "runs": records, "cpus": {"pinned": False}}


def told(runs, **kwargs):
    return "\n".join(ordering.sentences(result(runs, **kwargs)))


ROUNDS = range(8)
SLOW, FAST = [100 + i % 3 for i in ROUNDS], [110 + i % 3 for i in ROUNDS]


class Order(unittest.TestCase):
    def test_figures_of_both(self):
        text = told({"sem": FAST, "cond": SLOW})
        self.assertIn("Published (then): sem 1132 > cond 1046 MiB/s; here: sem 111, cond 101 IOPS.", text)

    def test_as_published(self):
        text = told({"sem": FAST, "cond": SLOW})
        self.assertRegex(text, r"Published ranking: 1 of 1 pairs confirmed, 0 reversed, 0 inconclusive\. Confirmed: sem against cond \+9\.9 % \(\+[89]\.\d % to \+1[01]\.\d %\)")

    def test_the_other_way_round(self):
        self.assertIn("Reversed: sem against cond -9.0 %", told({"sem": SLOW, "cond": FAST}))

    def test_not_told_apart(self):
        text = told({"sem": [100, 105, 98, 103, 99, 104, 101, 100], "cond": [101, 103, 99, 104, 98, 104, 102, 99]})
        self.assertIn("0 of 1 pairs confirmed, 0 reversed, 1 inconclusive", text)

    def test_one_run_is_too_few(self):
        self.assertIn("0 of 1 pairs confirmed, 0 reversed, 1 inconclusive", told({"sem": FAST[:1], "cond": SLOW[:1]}))

    def test_all_pairs_together(self):
        """Six pairs judged together: what is clear of two arms alone may not be of four."""
        four = {**PUBLISHED, "order": ["sem", "a", "b", "c"], "values": [4, 3, 2, 1]}
        runs = {n: [v - 2 * i + k % 2 for k in ROUNDS] for i, (n, v) in enumerate((n, 100) for n in four["order"])}
        self.assertIn("6 of 6 pairs confirmed, 0 reversed", told(runs, published=four))

    def test_peak_and_swing(self):
        text = told({"sem": SLOW, "cond": SLOW, "event": FAST})
        self.assertIn("event reached 122 in its best sample, sem 111: a higher peak", text)
        self.assertIn("standard deviation 11.1 against 10.1: swings more", text)
        same = told({"sem": SLOW, "cond": SLOW, "event": SLOW[::-1]})
        self.assertIn("no clearly different peak", same)
        self.assertIn("swings no clearly different amount", same)

    def test_nothing_published(self):
        without = result({"sem": FAST, "cond": SLOW})
        without["study"]["published"] = None
        self.assertEqual(ordering.sentences(without), [])


class Rounds(unittest.TestCase):
    """Which runs of two arms are compared."""

    def setUp(self):
        self.result = result({"sem": FAST, "cond": SLOW})
        self.arms = self.result["arms"]

    def count(self):
        return [len(x) for x in rounds.pairs(self.result, *self.arms, "iops")]

    def run_of(self, arm, repeat):
        return next(r for r in self.result["runs"] if r["arm"] == arm and r["repeat"] == repeat)

    def test_by_round_in_any_order(self):
        self.result["runs"].reverse()
        self.assertEqual(rounds.pairs(self.result, *self.arms, "iops"), (FAST, SLOW))

    def test_a_run_without_the_figure(self):
        self.run_of("cond", 3)["metrics"]["iops"] = None
        self.assertEqual(self.count(), [7, 7])

    def test_distance(self):
        self.run_of("cond", 3)["rtt"] = {"before": 300, "after": 300}
        self.run_of("sem", 5)["rtt"] = {"before": 100, "after": 200}
        self.assertEqual(self.count(), [8, 8])
        self.result["cpus"]["pinned"] = True
        self.assertEqual(self.count(), [6, 6])

    def test_distance_unknown(self):
        self.result["cpus"]["pinned"] = True
        for run in self.result["runs"]:
            run["rtt"] = {"before": None, "after": None}
        self.assertEqual(self.count(), [8, 8])


class Groups(unittest.TestCase):
    """A study whose arms have different factors."""

    def setUp(self):
        self.result = result({"sem": FAST, "cond": SLOW, "event": FAST, "spin": SLOW, "futex": FAST, "qemu": SLOW}, peer=True)
        for run in self.result["arms"]:
            run["metrics"]["lat_p1_us"] = {"value": 5, "min": 5, "max": 5}

    def test_arms_are_named_by_what_they_differ_in(self):
        names = {a["name"]: shape.differs(self.result, a) for a in self.result["arms"]}
        self.assertEqual((names["sem"], names["cond"], names["qemu"]), ("ours, sem", "cond", "qemu"))

    def test_told_by_verdict(self):
        text = "\n".join(summary.sentences(self.result))
        self.assertIn("Worse: cond -9.0 %; spin -9.0 %; qemu -9.0 %.", text)
        self.assertRegex(text, r"No significant difference \(95 % CI .*\): event 0\.0 %; futex 0\.0 %\.")

    def test_ranges_that_overlap_may_differ(self):
        """Each round 5 % slower while the host drifts by 30 %: the ranges overlap, the pairs do not."""
        runs = {"sem": [100 + 4 * i for i in ROUNDS]}
        for i, name in enumerate("abcde"):
            runs[name] = [v * (0.95 if i < 3 else 1 + (-1) ** k * 0.01) for k, v in enumerate(runs["sem"])]
        text = "\n".join(summary.sentences(result(runs)))
        self.assertIn("Worse: a -5.0 %; b -5.0 %; c -5.0 %.", text)
        self.assertRegex(text, r"No significant difference \(.*\): d")

    def test_many_arms(self):
        text = "\n".join(summary.sentences(result({"sem": FAST, **{name: SLOW for name in "abcdef"}, "g": FAST})))
        self.assertIn("Worse: a -9.0 %; b -9.0 %;", text)
        self.assertRegex(text, r"No significant difference \(.*\): g")

    def test_tables(self):
        made = table.sampled(self.result)
        head, rows = made.head, made.rows
        self.assertEqual(head[:3], ["arm", "mean", "sd"])
        self.assertEqual(rows[-1][:2], ["qemu", "101"])
        self.assertIn("p1", head)


class Matrix(unittest.TestCase):
    def test_many_series(self):
        """Eight series do not fit with three columns each: one figure a cell, every series under its name."""
        factors = {"threads": ["1", "4", "16"], "iodepth": [str(2 ** i) for i in range(8)]}
        arms = [{"name": f"{t} {d}", "values": {"threads": t, "iodepth": d}, "baseline": t == "1", "against": f"1 {d}",
                 "metrics": {"iops": {"value": int(t) * int(d), "min": 1, "max": 1}}, "change": {}, "runs": 3, "marked": 0}
                for t in factors["threads"] for d in factors["iodepth"]]
        made = {"study": {"primary": "iops", "factors": factors, "along": "threads", "baseline": {"threads": "1"}}, "arms": arms}
        laid = table.side_by_side(made)
        top, head, rows = laid.top, laid.head, laid.rows
        self.assertIn("IOPS by iodepth", top[1])
        self.assertEqual(head, ["threads"] + factors["iodepth"])
        self.assertEqual(rows[1][:4], ["4", "4.00", "8.00", "16.0"])
        self.assertEqual([row[8] for row in rows], ["128", "512", "2.05k"])


if __name__ == "__main__":
    unittest.main()
