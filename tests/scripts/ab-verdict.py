#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an A/B comparison says of runs whose truth is known: verdicts and words."""

import unittest

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.judge import ab, selftest, verdict
from dataplane_lib.report import verdict_table
from dataplane_lib.errors import Refused


def arms(effect, n=10, seed=2, distance=lambda place, i: 100.0):
    """Two lists of runs, B EFFECT % faster; DISTANCE(0 or 1, pair) in ns."""
    noise = selftest.Noise(np.random.default_rng(seed))
    return [[noise.run(v, distance(place, i)) for i, v in enumerate(values)]
            for place, values in enumerate(noise.pairs(n, effect))]


class Lines(unittest.TestCase):
    def test_faster(self):
        found = verdict.of_pairs(*arms(5), "iops")
        self.assertRegex(found.primary.text, r"^\+[3-7]\.\d % \(\+\d\.\d % to \+\d\.\d %\) p=(<0\.001|0\.0\d\d) faster$")
        self.assertEqual(found.line("lat_mean_us").word, "faster")
        self.assertLess(found.line("lat_mean_us").found.estimate, 0)
        self.assertEqual(found.lines[0].key, "iops")

    def test_slower_and_none(self):
        self.assertEqual(verdict.of_pairs(*arms(-5), "iops").primary.word, "slower")
        found = verdict.of_pairs(*arms(0), "iops").primary
        self.assertEqual(found.word, "~")
        self.assertTrue(found.text.endswith(" ~"), found.text)
        self.assertRegex(ab.sentence(found), r"No significant difference \(95 % CI -\d\.\d+ % to \+\d\.\d+ %\)")

    def test_another_primary_metric(self):
        found = verdict.of_pairs(*arms(10), "lat_p50_us")
        self.assertEqual((found.primary.key, found.primary.word), ("lat_p50_us", "faster"))
        self.assertIn("IOPS", [line.metric.label for line in found.lines[1:]])
        with self.assertRaisesRegex(Refused, "worker_cpu"):
            verdict.of_pairs(*arms(0), "worker_cpu")

    def test_others_are_corrected(self):
        """The primary metric alone has a p; every other interval is wider, and its mark says what the interval says."""
        found = verdict.of_pairs(*arms(20), "iops")
        self.assertLess(found.primary.found.p, 0.002)
        self.assertIn("p=", found.primary.text)
        for line in found.lines[1:]:
            self.assertNotIn("p=", line.text)
            self.assertIsNone(line.record()["p"])
            if not line.same:
                self.assertGreater(line.found.wanted, 0.95)
                self.assertEqual(line.word == "~", line.found.low <= 0 <= line.found.high, line)

    def test_columns_agree_with_the_change(self):
        """B over A is what is printed as the change, also where a few pairs go the other way."""
        for seed in range(20):
            a, b = arms(-5.8, 10, seed)
            for run in b[:3]:
                run.metrics["target_cpu"] *= 3
            for line in verdict.of_pairs(a, b, "iops").lines:
                if line.found.kind == "ratio":
                    self.assertAlmostEqual(100 * (line.b / line.a - 1), line.found.estimate, msg=line.key)

    def test_what_pairs_cannot_tell(self):
        """Seven pairs resolve the primary metric; of a dozen others they could not whatever they did."""
        for n, word in ((7, "?"), (12, "~")):
            found = verdict.of_pairs(*arms(0, n), "iops")
            self.assertEqual(found.primary.word, "~")
            self.assertEqual({line.word for line in found.lines[1:] if not line.same}, {word})
            self.assertEqual(any("decide the primary metric only" in note for note in found.notes), word == "?")
            shown = {"pairs": n, "level": 0.95, "sentences": [], "lines": [line.record() for line in found.lines]}
            self.assertEqual("inconclusive" in verdict_table.legend({"verdict": shown}), word == "?")
        self.assertEqual(verdict.of_pairs(*arms(20, 7), "iops").primary.word, "faster")

    def test_nothing_varies(self):
        a, b = arms(0)
        for run in a + b:
            run.metrics["kicks_per_io"] = 0.0
        line = verdict.of_pairs(a, b, "iops").line("kicks_per_io")
        self.assertEqual((line.text, line.word), ("the same in every run", "~"))

    def test_the_table_has_units(self):
        shown = {"pairs": 10, "level": 0.95, "lines": [line.record() for line in verdict.of_pairs(*arms(0), "iops").lines]}
        labels = [row[0] for row in verdict_table.table({"verdict": shown}).rows]
        for label in ("IOPS (primary)", "lat mean", "target CPU", "target sleeps per I/O"):
            self.assertIn(label, labels)

    def test_less_and_more(self):
        a, b = arms(0)
        for run in b:
            run.metrics["sleeps_per_io"] *= 0.5
            run.metrics["target_cpu"] *= 2
        found = verdict.of_pairs(a, b, "iops")
        self.assertEqual([found.line(k).word for k in ("sleeps_per_io", "target_cpu")], ["less", "more"])


class Distance(unittest.TestCase):
    def test_unequal_pairs_are_not_compared_and_told(self):
        a, b = arms(5, distance=lambda place, i: 500.0 if place and i in (2, 6) else 100.0)
        for i in (2, 6):
            b[i].metrics["iops"] /= 2
        found = verdict.of_pairs(a, b, "iops")
        self.assertEqual((found.left_out, found.primary.found.n), ([3, 7], 8))
        self.assertIn("pairs 3, 7 of 10 not compared", found.notes[0])
        self.assertIn("with them IOPS", found.notes[0])
        self.assertEqual(found.primary.word, "faster")

    def test_changed_during_a_run(self):
        a, b = arms(5)
        a[0].rtt["after"] = 300.0
        self.assertEqual(verdict.of_pairs(a, b, "iops").left_out, [1])

    def test_no_pair_is_left(self):
        found = verdict.of_pairs(*arms(50, distance=lambda place, i: 100.0 + 400 * place), "iops")
        self.assertEqual({line.word for line in found.lines}, {"?"})
        self.assertIn("no pair is left", found.notes[0])
        self.assertIn("inconclusive", ab.sentence(found.primary))


class Words(unittest.TestCase):
    def test_too_few_pairs(self):
        found = verdict.of_pairs(*arms(50, 4), "iops")
        self.assertEqual(found.primary.word, "?")
        self.assertIn("inconclusive, too few pairs", ab.sentence(found.primary))
        self.assertIn("4 pairs are too few", " ".join(found.notes))

    def test_modes_and_drift_are_told(self):
        noise = selftest.Noise(np.random.default_rng(5))
        for kind, word in (({"modes": True}, "two modes"), ({"drift": -30}, "drifted")):
            a, b = ([noise.run(v) for v in values] for values in noise.pairs(12, **kind))
            self.assertIn(word, " ".join(verdict.of_pairs(a, b, "iops").notes))


if __name__ == "__main__":
    unittest.main()
