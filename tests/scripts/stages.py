#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""In which stage the difference between traced arms sits: found where it was put, for the middle and the slowest, and shares that add up to 100 %."""

import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

SRC = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SRC / "scripts"))
sys.path.insert(0, str(SRC / "tests/scripts"))
import made_up  # noqa: E402
from dataplane_lib.judge import arms, compare, stages as judged  # noqa: E402
from dataplane_lib.read import digest, store  # noqa: E402
from dataplane_lib.trace import records as tf, stages  # noqa: E402

ALL = [tf.QUEUE, tf.SUBMIT, tf.KICK, tf.WOKEN, tf.POP, tf.START, tf.WORK, tf.WORKED, tf.DONE, tf.PUBLISH, tf.CALL, tf.AWAKE, tf.SEEN, tf.RETURN]


def times(count=2000, slow=20, extra=0, event=tf.WORK, usual=0):
    """Requests with 100 ns a stage, and a bit; SLOW of them take 100 µs in the stage of EVENT, and EXTRA more, all take USUAL more in it."""
    rng = np.random.default_rng(count)
    out = np.zeros((count, tf.EVENTS), np.int64)
    at = np.full(count, 10_000_000) + np.arange(count) * 1_000_000
    for each in ALL:
        at = at + 100 + rng.integers(0, 20, count)
        if each == event:
            at = at + usual
            at[:slow] += 100_000 + extra
        out[:, each] = at
    return out


def parts(*args, side="both", **words):
    found = stages.views(times(*args, **words), "both")
    return found if side == "both" else {side: found[side]}


class Groups(unittest.TestCase):
    def test_shares_of_a_group_add_up_and_the_slow_are_made_of_what_made_them_slow(self):
        made = stages.made_of(times())
        self.assertEqual([made[g]["requests"] for g in stages.GROUPS], [1000, 20, 2])
        for group in made.values():
            self.assertAlmostEqual(sum(group["stages"].values()), group["ns"], places=6)
        self.assertGreater(made["p99"]["stages"]["worker begins"] / made["p99"]["ns"], 0.98)
        self.assertLess(made["middle"]["stages"]["worker begins"] / made["middle"]["ns"], 0.1)

    def test_the_table_has_the_same_shares(self):
        rows = stages.table(times())
        for key in ("share", "share_middle", "share_p99", "share_p99.9"):
            self.assertAlmostEqual(sum(row[key] for row in rows[:-1]), 100, places=6)
            self.assertAlmostEqual(rows[-1][key], 100, places=6)

    def test_of_one_request_too(self):
        made = stages.made_of(times(1, 0))
        self.assertEqual([g["requests"] for g in made.values()], [1, 1, 1])

    def test_each_side_alone_has_the_same_requests_in_its_own_stages(self):
        found = stages.views(times(), "both")
        self.assertEqual(set(found), {"both", "engine", "target"})
        self.assertEqual(list(found["engine"]["p99"]["stages"]), ["submitted", "kicked", "engine woken", "seen by the engine", "returned to fio"])
        self.assertAlmostEqual(found["engine"]["p99"]["ns"], found["both"]["p99"]["ns"])
        self.assertEqual(next(iter(found["target"]["p99"]["stages"])), "given to the backend")


class Judged(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.place = Path(tmp.name) / "r"

    def result(self, by_arm, values=None, runs=5, place=None):
        """The place of a result of arms whose runs have the parts of BY_ARM(arm's number, run)."""
        place = place or self.place
        found = made_up.arms(*(values or ({"wakeup": "sem"}, {"wakeup": "futex"})))
        made_up.write(place, found, lambda i: 20, runs=runs, ios=1000)
        names = [a["name"] for a in found]
        for n, directory in enumerate(sorted((place / "raw").iterdir())):
            record = json.loads((directory / "run.json").read_text())
            told = by_arm(names.index(record["arm"]), n)
            if told:
                (directory / "trace.json").write_text(json.dumps({"side": "both", "stages": [], "load": {}, "parts": told}))
        return place

    def report(self, *args, **words):
        """(the digest with what was judged, what is said of it) of result(…)."""
        found = digest.digest(store.load(self.result(*args, **words)))
        arms.judge(found)
        judged.judge(found)
        return found, " ".join([*found.get("stages", {}).get("sentences", ()), *(t["title"] for t in judged.tables(found))])

    def test_a_difference_of_the_slowest_is_told_with_its_stage_and_the_middle_is_left_alone(self):
        found, text = self.report(lambda arm, n: parts(extra=arm * 50_000 + n, usual=n % 3))
        self.assertRegex(text, r'Slowest 1 %: futex is [45]\d(\.\d)? µs slower \(\S+ µs to \S+ µs, 95 % CI [^)]*\): [45]\d(\.\d)? µs in "worker begins"')
        self.assertRegex(text, r"Lifetime of futex: middle half no significant difference")
        self.assertIn("Where the difference sits", text)
        changes = {one["group"]: one for one in found["stages"]["changes"]}
        for one in changes.values():
            self.assertAlmostEqual(sum(part["difference"] for part in one["stages"]), one["b"] - one["a"], places=3)
        self.assertEqual(changes["p99"]["stages"][0]["stage"], "worker begins")

    def test_it_is_printed_and_drawn(self):
        place = self.result(lambda arm, n: parts(extra=arm * 50_000 + n, usual=n % 3))
        done = subprocess.run([str(SRC / "scripts/dataplane"), "report", str(place)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Where the difference sits", done.stdout)
        self.assertIn("* Slowest 1 %: futex is", done.stdout)
        self.assertIn("slowest 0.1 %", (place / "stages.svg").read_text())
        self.assertIn("What requests are made of", (place / "report.html").read_text())

    def test_a_stage_that_gets_faster_is_told_as_such(self):
        _, text = self.report(lambda arm, n: parts(usual=1000 - 600 * arm + n, event=tf.AWAKE))
        self.assertRegex(text, r'Middle half: futex is \d+ ns faster .*?: \d+ ns in "engine woken"')

    def test_an_arm_with_the_engine_alone_is_compared_in_what_both_know(self):
        found, text = self.report(lambda arm, n: parts(usual=arm * 4000 + n, side="engine" if arm else "both"))
        self.assertEqual(found["stages"]["view"], "engine")
        names = {stage for arm in found["stages"]["arms"].values() for group in arm.values() for stage in group["stages"]}
        self.assertEqual(names, {"submitted", "seen by the engine (target and all)", "returned to fio"})
        self.assertRegex(text, r'Middle half: futex is 4\.\d+ µs slower .*?"seen by the engine \(target and all\)"')
        self.assertIn("The stages are those of the engine alone", text)

    def test_arms_with_the_target_alone(self):
        found, text = self.report(lambda arm, n: parts(usual=arm * 4000 + n, side="target"))
        self.assertEqual(found["stages"]["view"], "target")
        self.assertRegex(text, r'Middle half: futex is 4\.\d+ µs slower .*?"worker begins"')

    def test_arms_of_which_nothing_is_common_are_not_compared(self):
        found, text = self.report(lambda arm, n: parts(side="target" if arm else "engine"))
        self.assertEqual(found["stages"]["changes"], [])
        self.assertIn("Stages are not compared", text)

    def test_many_arms_have_a_row_each(self):
        _, text = self.report(lambda arm, n: parts(usual=arm * 500 + n), [{"wakeup": w} for w in ("sem", "futex", "spin", "eventfd", "per-thread", "spin-park")], runs=3)
        self.assertIn("What requests are made of", text)
        self.assertEqual(text.count("Middle half: "), 1)

    def test_untraced_arms_and_older_traces_say_nothing(self):
        found, _ = self.report(lambda arm, n: None)
        self.assertNotIn("stages", found)

    def test_results_of_two_times_are_compared_session_by_session(self):
        sides = [self.result(lambda _, k, n=n: parts(usual=(n // 3) * 3000 + 10 * n + k), [{"wakeup": "sem"}], runs=2, place=self.place.parent / str(n))
                 for n in range(6)]
        found = [digest.digest(store.load(place)) for place in sides]
        combined = compare.compare(found[:3], found[3:], sides, [{}] * 6)
        self.assertRegex(" ".join(combined["stages"]["sentences"]), r'Middle half: 2 is [23]\.\d+ µs slower .*?"worker begins"')


class Random(unittest.TestCase):
    def test_folding_keeps_the_lifetime(self):
        rng = random.Random(1)
        for _ in range(20):
            group = stages.views(times(200, 5, rng.randrange(10**5)), "both")["engine"]["p99"]
            folded = judged._made(group, True)
            self.assertAlmostEqual(sum(folded["stages"].values()), folded["ns"], places=6)


if __name__ == "__main__":
    unittest.main()
