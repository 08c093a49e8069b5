#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""--fail-if: 1 only where the whole interval is beyond a limit, 0 where it is not by more than the dead band, 4 otherwise; several are judged together."""

import math
import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
import made_up
import numpy as np
from dataplane_lib.judge import arms, compare, gate, selftest
from dataplane_lib.read import digest, store
from dataplane_lib.stats import limits
from dataplane_lib.errors import CommandLine


class FakeStore:
    def __init__(self, a, b):
        self.runs = {"arm=A": a, "arm=B": b}

    def of_arm(self, name):
        return self.runs[name]


def pairs(texts, effect, n=10, band=1.0, noise=None, level=0.95):
    """result["gate"] of N pairs of which B is EFFECT % faster."""
    noise = noise or selftest.Noise(np.random.default_rng(2))
    a, b = ([noise.run(v) for v in values] for values in noise.pairs(n, effect))
    result = {"ab": {"level": level}, "verdict": {"left_out": []}, "arms": [{"name": "arm=A"}, {"name": "arm=B"}],
              "study": {"fail_if": texts, "dead_band": band}}
    gate.hold(result, FakeStore(a, b))
    return result["gate"]


class Pairs(unittest.TestCase):
    def test_the_whole_interval_decides(self):
        for text, effect, status in (("iops < -2%", -8, 1), ("iops < -2%", 0, 0), ("iops < -2%", 8, 0), ("lat_mean_us>5 %", -20, 1), ("lat_mean_us>5 %", 0, 0)):
            self.assertEqual(pairs([text], effect)["status"], status, (text, effect))

    def test_a_change_right_at_the_limit_is_let_pass_by_the_dead_band_and_open_without(self):
        self.assertEqual(pairs(["iops < -2%"], -2, band=0)["status"], 4)
        self.assertIn("inconclusive", pairs(["iops < -2%"], -2, band=0)["sentences"][0])
        self.assertEqual(pairs(["iops < -2%"], -2, n=40)["status"], 0)
        self.assertEqual(pairs(["iops < -2%"], -8, band=3)["status"], 1)

    def test_too_few_pairs_are_inconclusive(self):
        found = pairs(["iops < -2%"], -50, 4)
        self.assertEqual(found["status"], 4)
        self.assertIn("4 runs of each arm are too few", found["sentences"][0])

    def test_any_condition_fails_and_all_must_pass(self):
        self.assertEqual(pairs(["iops < -2%", "lat_mean_us > 50%"], -8)["status"], 1)
        self.assertEqual(pairs(["iops < -20%", "lat_mean_us > 50%"], 0)["status"], 0)
        self.assertEqual(pairs(["iops < -20%", "lat_mean_us > 0%"], -0.5, band=0)["status"], 4)

    def test_together_each_is_judged_more_strictly(self):
        # 6 pairs have 96.9 %, which is enough for one condition and not for two.
        self.assertEqual(pairs(["iops < -2%"], -30, 6)["status"], 1)
        self.assertEqual(pairs(["iops < -2%", "lat_mean_us > 2%"], -30, 6)["status"], 4)
        self.assertAlmostEqual(limits.each_level(0.95, 2), 0.975)

    def test_a_figure_itself(self):
        usual = pairs(["iops < 1"], 0)["conditions"][0]["arms"]["B"]["estimate"]
        self.assertEqual(pairs([f"iops < {usual * 1.3:.0f}"], 0)["status"], 1)
        self.assertEqual(pairs([f"iops < {usual / 1.3:.0f}"], 0)["status"], 0)
        self.assertEqual(pairs([f"iops < {usual:.0f}"], 0, band=0)["status"], 4)
        self.assertIn("no regression: B ", pairs(["lat_mean_us > 1s"], 0)["sentences"][0])

    def test_a_metric_without_figures_is_inconclusive(self):
        found = pairs(["qemu_cpu > 5%"], 0)
        self.assertEqual(found["status"], 4)
        self.assertIn("has no figure", found["sentences"][0])

    def test_equal_arms_fail_seldom_however_many_conditions(self):
        noise, wrong = selftest.Noise(np.random.default_rng(3)), 0
        for _ in range(200):
            wrong += pairs(["iops < 0%", "lat_mean_us > 0%", "iops > 0%"], 0, noise=noise)["status"] == 1
        self.assertLessEqual(wrong, 20)


class Words(unittest.TestCase):
    def test_mistakes_are_refused_all_at_once(self):
        for text, word in (("iops", "expected METRIC"), ("iops = 2", "expected METRIC"), ("speed < -2%", "unknown metric"), ("iops < 3 us", "not a unit of iops"),
                           ("lat_p99_us > 3 MiB/s", "accepted: % for a change, ns, us")):
            with self.assertRaisesRegex(CommandLine, word):
                gate.parse([text])
        with self.assertRaises(CommandLine) as raised:
            gate.parse(["speed < 1", "iops"])
        self.assertEqual(len(str(raised.exception).splitlines()), 2)

    def test_units(self):
        for text, limit in (("lat_p99_us > 200us", 200), ("lat_p99_us > 0.2 ms", 200), ("lat_p99_us > 200", 200), ("iops < 30k", 30000), ("bw_mib < 1GiB/s", 1024), ("target_cpu > 50", 50)):
            found = gate.parse([text])[0]
            self.assertFalse(found.relative)
            self.assertTrue(math.isclose(found.limit, limit), text)


class Results(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)

    def sweep(self, texts, latency, runs=5):
        place = made_up.write(self.dir / "r", made_up.arms({"poll": "off"}, {"poll": "busy"}, {"poll": "fixed"}), latency, runs=runs, ios=1000, fail_if=texts)
        found = digest.digest(store.load(place))
        arms.judge(found)
        gate.hold(found)
        return found["gate"]

    def test_any_arm_of_a_sweep_fails_it(self):
        found = self.sweep(["iops < -10%"], lambda i: (20, 19, 40)[i])
        self.assertEqual(found["status"], 1)
        self.assertRegex(found["sentences"][0], r"^--fail-if iops < -10 %: regression: poll=fixed -[45]\d\.\d %")
        self.assertEqual({arm: held["verdict"] for arm, held in found["conditions"][0]["arms"].items()}, {"poll=busy": "kept", "poll=fixed": "passed"})

    def test_all_arms_within_pass(self):
        self.assertEqual(self.sweep(["iops < -30%", "lat_p50_us > 1ms"], lambda i: 20)["status"], 0)

    def test_two_runs_are_inconclusive(self):
        found = self.sweep(["iops < -10%"], lambda i: (20, 19, 40)[i], runs=2)
        self.assertEqual(found["status"], 4)
        self.assertIn("2 runs of each arm are too few", found["sentences"][0])

    def sessions(self, texts, before, after):
        places = [made_up.write(self.dir / f"s{n}", made_up.arms({"poll": "off"}), lambda _, us=us: us, runs=2, ios=1000) for n, us in enumerate([*before, *after])]
        found = [digest.digest(store.load(place)) for place in places]
        return compare.compare(found[:len(before)], found[len(before):], places, [{}] * len(places), texts)["gate"]

    def test_compare_wants_three_sessions_on_each_side(self):
        found = self.sessions(["iops < -10%"], [20, 20.1], [40, 40.1])
        self.assertEqual(found["status"], 4)
        self.assertIn("2 sessions on each side are too few", found["sentences"][0])
        self.dir /= "more"
        self.dir.mkdir()
        self.assertEqual(self.sessions(["iops < -10%"], [20, 20.1, 19.9], [40, 40.1, 39.9])["status"], 1)


if __name__ == "__main__":
    unittest.main()
