#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The summary in words says what the figures say, whatever they are."""

import copy
import unittest

import fakes
from dataplane_lib.judge import summary


def told(values, **kwargs):
    """The sentence about the only series."""
    sentences = summary.sentences(fakes.result(values, **kwargs))
    return sentences[1]


class Words(unittest.TestCase):
    def test_step(self):
        text = told([100, 101, 148, 150], cpu=[50, 50, 100, 100], base_cpu=50)
        self.assertIn("Break-even at x=4: +48 % IOPS at 100 % CPU (was 50 %)", text)
        self.assertIn("from there on +48 % to +50 %", text)
        self.assertIn("Below that, x 1 to 2: no significant difference (0.0 % to +1.0 %)", text)

    def test_no_step(self):
        text = told([100, 101, 99, 102], spread=0.03)
        self.assertRegex(text, r"^No significant difference in IOPS over x 1 to 8: -1\.0 % to \+2\.0 % \(95 % CI -\d\.\d % to \+\d\.\d %\)\.$")
        self.assertNotIn("pay", text)
        self.assertRegex(summary.sentences(fakes.result([100, 101], spread=0.03))[-1], r"With 4 runs per arm a change of \d\.\d % in IOPS is found 4 times in 5")

    def test_arms_of_unlike_runs(self):
        """All arms had four; one of them loses a run, then the baseline does."""
        result = fakes.result([100, 101, 99], spread=0.03)
        for arm in result["arms"][2], result["arms"][0]:
            result["runs"].remove(next(run for run in result["runs"] if run["arm"] == arm["name"]))
            self.assertRegex(summary.sentences(copy.deepcopy(result))[-1], r"^With 3 to 4 runs per arm ")

    def test_found_but_small(self):
        """2 % is a difference where runs are half a per cent apart."""
        self.assertIn("Break-even at x=8: +2.0 % IOPS", told([100, 101, 99, 102]))

    def test_other_effects_are_told_in_plain_words(self):
        """Only polling, which is paid for in CPU, breaks even."""
        result = fakes.result([100, 101, 148, 150])
        result["study"]["effect"] = "a larger pool"
        text = summary.sentences(result)[1]
        self.assertIn("Better from x=4 on: +48 % IOPS", text)
        self.assertNotIn("even", text)

    def test_many_series_begin_with_what_they_come_to(self):
        """Not with a page of baselines."""
        result = fakes.result([100, 101, 148, 150])
        first = list(result["arms"])
        for series in "abcde":
            for arm in first:
                name = f"{series}-{arm['name']}"
                result["arms"].append({**arm, "name": name, "against": f"{series}-{arm['against']}", "values": {**arm["values"], "series": series}})
                result["runs"] += [{**run, "arm": name} for run in result["runs"] if run["arm"] == arm["name"]]
        result["arms"] = [a for a in result["arms"] if a not in first]
        result["runs"] = [r for r in result["runs"] if r["arm"][1:2] == "-"]
        result["study"]["factors"]["series"] = list("abcde")
        told = summary.sentences(result)
        self.assertRegex(told[0], r"^IOPS of 20 arms against their baselines: \d+ better, \d+ no significant difference\.$")
        self.assertIn("Largest gain: ", told[1])
        self.assertIn("+50 % IOPS", told[1])
        self.assertFalse([t for t in told[:4] if t.startswith("Baseline")], told)
        self.assertEqual(len([t for t in told if t.startswith("Baseline")]), 5)

    def test_always_worse(self):
        self.assertIn("Polling never pays: -50 % to -20 % IOPS over x 1 to 4", told([80, 60, 50]))

    def test_better_at_once(self):
        text = told([130, 140, 150])
        self.assertIn("pays at every value tried (x 1 to 4)", text)
        self.assertNotIn("even", text)

    def test_loss_below_the_step_is_told(self):
        text = told([100, 80, 150])
        self.assertIn("Break-even at x=4", text)
        self.assertIn("x 1: no significant difference", text)
        self.assertIn("x 2: worse (-20 %)", text)

    def test_collapse_after_a_gain_is_no_step(self):
        """The 2016 first version: better in the middle, worst where it should pay."""
        text = told([148, 100, 148, 60])
        self.assertIn("No single step up", text)
        self.assertNotIn("Break-even", text)
        self.assertIn("x 8: worse (-40 %)", text)
        self.assertIn("Best at x=1", text)

    def test_noise_is_no_difference(self):
        """10 % apart, but so are the runs of each."""
        self.assertIn("No significant difference", told([110, 108, 111], spread=0.15))

    def test_few_runs(self):
        """One run says nothing; two say what can be ruled out, in words that are none of a verdict."""
        text = told([73, 58, 149], runs=1)
        self.assertIn("Inconclusive with 1 run in IOPS", text)
        text = told([103, 98, 101], runs=2, spread=0.1)
        self.assertRegex(text, r"^Inconclusive with 2 runs in IOPS over x 1 to 4: .* \(95 % CI -\d+\.\d % to \+\d+\.\d %\)\.$")
        self.assertNotRegex(text, "(?i)worse|better|no significant")
        self.assertIn("Break-even at x=4: +169 % IOPS", told([73, 49, 269], runs=2))

    def test_few_runs_on_no_axis(self):
        for values in ([98], [98, 103, 101, 104, 99]):
            result = fakes.result(values, runs=2, spread=0.1)
            result["study"]["factors"] = {"mode": ["off"], "x": ["one"]}
            for number, arm in enumerate(result["arms"][1:]):
                arm["values"] = {"x": "abcde"[number]}
            text = " ".join(summary.sentences(result))
            self.assertRegex(text, "(?i)inconclusive with 2 runs")
            self.assertNotRegex(text, "(?i)worse|better")

    def test_what_a_gain_is_paid_with(self):
        """An arm that wins IOPS at nine times the p99.99 and with unfair jobs does not win without a word."""
        result = fakes.result([140, 101])
        for run in result["runs"]:
            bad = run["arm"] == "1"
            noise = 1 + run["repeat"] / 100
            run["metrics"].update({"lat_p99.99_us": (80000 if bad else 9000) * noise, "lat_p99.9_us": 500 * noise, "job_spread": (2.6 if bad else 1.1) * noise})
        for arm in result["arms"]:
            for key in ("lat_p99.99_us", "job_spread"):
                arm["metrics"][key] = {"value": next(r["metrics"][key] for r in result["runs"] if r["arm"] == arm["name"])}
        text = " ".join(summary.sentences(result))
        self.assertIn("Better IOPS, but: x=1: lat p99.99 8.9 × (9.09 ms to 80.8 ms), fastest job 2.6 × the slowest (was 1.1 ×).", text)
        result["arms"][1]["few_beyond"] = [99.99]
        del result["grid"]
        self.assertNotIn("p99.99", " ".join(summary.sentences(result)))

    def test_an_unsteady_arm_is_named(self):
        """Runs of 32932 and 41 IOPS are not averaged without a word."""
        result = fakes.result([100, 100, 100], runs=3)
        next(r for r in result["runs"] if r["arm"] == "2")["metrics"]["iops"] = 0.12
        summary.sentences(result)
        self.assertEqual(result["warnings"], ["2: its runs differ far more than those of other arms, IOPS from 0.12 to 101: run it again"])
        self.assertEqual(result["grid"]["unsteady"], ["2"])
        steady = fakes.result([100, 100, 100], runs=3)
        summary.sentences(steady)
        self.assertEqual(steady["warnings"], [])

    def test_less_is_better(self):
        result = fakes.result([100, 100, 60])
        result["study"]["primary"] = "lat_mean_us"
        for arm in result["arms"]:
            for table in ("metrics", "change"):
                arm[table]["lat_mean_us"] = arm[table].pop("iops")
        for run in result["runs"]:
            run["metrics"]["lat_mean_us"] = run["metrics"].pop("iops")
        self.assertIn("Break-even at x=4: -40 % lat mean", summary.sentences(result)[1])

    def test_baseline(self):
        first = summary.sentences(fakes.result([100, 100, 100], base_cpu=48, cpu=[48] * 3))[0]
        self.assertEqual(first, "Baseline mode=off: 100 IOPS (99.0 to 101 over 4 runs), target CPU 48 %.")
        alone = summary.sentences(fakes.result([100, 100, 100], runs=1))[0]
        self.assertNotIn("over", alone)


if __name__ == "__main__":
    unittest.main()
