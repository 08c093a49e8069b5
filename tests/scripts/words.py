#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The summary in words says what the figures say, whatever they are."""

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
        self.assertIn("polling starts to pay at x=4: +48.0 % IOPS for 2 x the target's CPU (50 % to 100 %)", text)
        self.assertIn("from there on +48.0 % to +50.0 %", text)
        self.assertIn("Below that, x 1 to 2: no clear difference (+0.0 % to +1.0 %)", text)

    def test_no_step(self):
        text = told([100, 101, 99, 102])
        self.assertIn("no step seen", text)
        self.assertIn("-1.0 % to +2.0 %", text)
        self.assertNotIn("pay", text)

    def test_always_worse(self):
        self.assertIn("polling never pays: -50.0 % to -20.0 % IOPS over x 1 to 4", told([80, 60, 50]))

    def test_better_at_once(self):
        text = told([130, 140, 150])
        self.assertIn("pays at every value tried (x 1 to 4)", text)
        self.assertNotIn("starts", text)

    def test_loss_below_the_step_is_told(self):
        text = told([100, 80, 150])
        self.assertIn("starts to pay at x=4", text)
        self.assertIn("x 1: no clear difference", text)
        self.assertIn("x 2: worse (-20.0 %)", text)

    def test_collapse_after_a_gain_is_no_step(self):
        """The 2016 first version: better in the middle, worst where it should pay."""
        text = told([148, 100, 148, 60])
        self.assertIn("no single step up", text)
        self.assertNotIn("starts to pay", text)
        self.assertIn("x 8: worse (-40.0 %)", text)
        self.assertIn("Best at x=1", text)

    def test_noise_is_no_difference(self):
        """20 % apart, but the runs of both overlap."""
        self.assertIn("no step seen", told([120, 118, 121], spread=0.15))

    def test_few_runs_tell_only_the_obvious(self):
        """Runs apart: a difference in four runs, chance in fewer unless it is large."""
        self.assertIn("pays at every value", told([110, 111, 112], runs=4))
        for runs, said in ((1, "1 run "), (2, "2 runs "), (3, "3 runs ")):
            text = told([73, 58, 149], runs=runs)
            self.assertIn(f"cannot be told from {said}", text)
            self.assertNotIn("no clear difference", text)
            self.assertNotIn("worse", text)
        self.assertIn("pays at every value", told([160, 170, 180], runs=2))
        text = told([73, 49, 269], runs=2)
        self.assertIn("starts to pay at x=4: +169.0 % IOPS", text)
        self.assertIn("x 1: cannot be told from 2 runs (-27.0 %); x 2: worse (-51.0 %)", text)

    def test_few_runs_on_no_axis(self):
        for values in ([60], [60, 60, 140, 140, 60]):
            result = fakes.result(values, runs=2)
            result["study"]["factors"] = {"mode": ["off"], "x": ["one"]}
            for number, arm in enumerate(result["arms"][1:]):
                arm["values"] = {"x": "abcde"[number]}
            text = " ".join(summary.sentences(result))
            self.assertRegex(text, "(?i)cannot be told from 2 runs")
            self.assertNotRegex(text, "(?i)worse|better")

    def test_less_is_better(self):
        result = fakes.result([100, 100, 60])
        result["study"]["primary"] = "lat_mean_us"
        for arm in result["arms"]:
            for table in ("metrics", "change"):
                arm[table]["lat_mean_us"] = arm[table].pop("iops")
        self.assertIn("starts to pay at x=4: -40.0 % lat mean", summary.sentences(result)[1])

    def test_baseline(self):
        first = summary.sentences(fakes.result([100, 100, 100], base_cpu=48, cpu=[48] * 3))[0]
        self.assertEqual(first, "Baseline mode=off: 100 IOPS (99.0 to 101 over 4 runs), target CPU 48 %.")
        alone = summary.sentences(fakes.result([100, 100, 100], runs=1))[0]
        self.assertNotIn("over", alone)


if __name__ == "__main__":
    unittest.main()
