#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is computed, held against made-up runs of known truth: the rules of the first release and those of today, side by side."""

import os
import unittest

import fakes  # noqa: F401
import numpy as np
from dataplane_lib.judge import selftest
from dataplane_lib.stats import grid, latency, limits, pooled, ranks, stopping
from scipy import stats as scipy_stats

MORE = 10 if os.environ.get("CHECK_FULL") else 1


def show(what, old, new, wanted):
    print(f"{what:<58} {old:>9} {new:>9}  {wanted}", flush=True)


def percent(hits, tries):
    return f"{100 * hits / tries:.1f} %"


def at_most(hits, tries, share):
    """Chance gives so many once in a thousand times."""
    return scipy_stats.binom.sf(hits - 1, tries, share) > 1e-3


def at_least(hits, tries, share):
    return scipy_stats.binom.cdf(hits, tries, share) > 1e-3


def whole_bin(histogram, p):
    """The old percentile: the middle of fio's bin."""
    total, seen = sum(histogram.values()), 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= p / 100 * total * (1 - 1e-12):
            return value
    raise ValueError("nothing in it")


def apart(table, arm):
    """The old rule of a sweep: medians 5 % apart, ranges that do not overlap, and 50 % with fewer than four runs."""
    a, b = (np.array(list(table[name].values())) for name in ("0", arm))
    change = abs(np.median(b) / np.median(a) - 1)
    return change >= (0.05 if len(a) > 3 else 0.5) and (b.min() > a.max() or b.max() < a.min())


class Truth(unittest.TestCase):
    def setUp(self):
        self.noise = selftest.Noise(np.random.default_rng(12))

    def test_a_percentile_that_moves_by_less_than_a_bin(self):
        tries, found, held = 60 * MORE, [0, 0], [0, 0]
        for _ in range(tries):
            runs = [[selftest.histogram(self.noise.rng, level=level * np.exp(self.noise.rng.normal(0, 0.003))) for _ in range(20)] for level in (1.0, 1.01)]
            for i, percentile in enumerate((whole_bin, latency.percentile)):
                one = ranks.paired(*[[percentile(h, 50) for h in arm] for arm in runs])
                found[i] += one.resolved and one.estimate > 0
                held[i] += one.low <= 1 <= one.high
        show("p50 +1 %, runs 0.3 % apart, 20 pairs: found", *(percent(f, tries) for f in found), ">= 95 %")
        show("  the interval holds the truth", *(percent(h, tries) for h in held), "93 to 97 %")
        self.assertTrue(at_least(found[1], tries, 0.95) and at_least(held[1], tries, 0.94), (found, held))

    def test_every_fourth_run_disturbed(self):
        for n in (6, 10, 20):
            tries, hits = 400 * MORE, [0, 0]
            for _ in range(tries):
                level = 0.003 * self.noise.rng.standard_normal(2 * n) - 0.05 * ((np.arange(2 * n) + self.noise.rng.integers(4)) % 4 == 0)
                for i, first in enumerate((np.arange(n) % 2, self.noise.rng.integers(0, 2, n))):
                    hits[i] += ranks.paired(*(np.exp(level[2 * np.arange(n) + (first + place) % 2]) for place in (0, 1))).resolved
            show(f"equal arms, each 4th run 5 % down, {n} pairs: found", *(percent(h, tries) for h in hits), "<= 5 %")
            self.assertTrue(at_most(hits[1], tries, 0.05), hits)

    def test_sweeps(self):
        for arms, repeats, tries in ((16, 4, 80), (54, 4, 15), (16, 3, 80), (16, 2, 80)):
            asked = [(str(i), "0") for i in range(1, arms)]
            for kind in selftest.KINDS:
                hits = [0, 0]
                for _ in range(tries * MORE):
                    table = self.noise.sweep(arms, repeats, kind)
                    hits[0] += any(apart(table, arm) for arm, _ in asked)
                    hits[1] += any(c.resolved for c in grid.judge(table, asked).changes.values())
                show(f"{arms} equal arms x {repeats}, {kind}", *(percent(h, tries * MORE) for h in hits), "<= 5 %")
                self.assertTrue(at_most(hits[1], tries * MORE, 0.06), (arms, repeats, kind, hits))

    def test_small_sweeps_of_two_runs(self):
        """Two and three arms find no difference at all, four keep the rate."""
        for arms in (2, 3, 4):
            asked, tries = [(str(i), "0") for i in range(1, arms)], 60 * MORE
            for kind in selftest.KINDS:
                hits = [0, 0]
                for _ in range(tries):
                    table = self.noise.sweep(arms, 2, kind)
                    hits[0] += any(apart(table, arm) for arm, _ in asked)
                    hits[1] += any(c.resolved for c in grid.judge(table, asked).changes.values())
                show(f"{arms} equal arms x 2, {kind}", *(percent(h, tries) for h in hits), "<= 5 %")
                self.assertTrue(at_most(hits[1], tries, 0.05), (arms, kind, hits))
        change = grid.judge({"0": {1: 100.0, 2: 100.1}, "1": {1: 200.0, 2: 200.1}}, [("1", "0")]).changes["1", "0"]
        self.assertTrue(not change.resolved and change.low <= 0 <= change.high, change)

    def test_an_unsteady_arm_made_again(self):
        """One run of an equal arm at half: old without its second set, new with it (run/again.py)."""
        asked, tries = [(str(i), "0") for i in range(1, 16)], 40 * MORE
        for hit in ("1", "0"):
            for kind in ("normal", "wandering level", "every fourth run 5 % down"):
                hits, narrow = [0, 0], 0
                for _ in range(tries):
                    later = self.noise.sweep(16, 6, kind)
                    first = {arm: {r: v for r, v in runs.items() if r < 3} for arm, runs in later.items()}
                    first[hit][0] *= 0.5
                    bad = grid.unsteady(first)
                    beside = {name for arm, base in asked if {arm, base} & set(bad) for name in (arm, base)} - set(bad)
                    table = {arm: {r: v for r, v in runs.items() if r > 2 or arm not in bad} if arm in bad or arm in beside else first[arm]
                             for arm, runs in later.items()}
                    found = [grid.judge(t, asked).changes for t in (first, table)]
                    for i, changes in enumerate(found):
                        hits[i] += any(c.resolved for c in changes.values())
                    narrow += found[1]["1", "0"].high - found[1]["1", "0"].low < found[0]["1", "0"].high - found[0]["1", "0"].low
                show(f"{'baseline' if hit == '0' else 'arm'} disturbed, made again, {kind}", *(percent(h, tries) for h in hits), "<= 5 %")
                self.assertTrue(at_most(hits[1], tries, 0.06) and narrow > tries / 2, (hit, kind, hits, narrow))

    def test_a_tenth_more(self):
        tries, hits, asked = 150 * MORE, [0, 0], [(str(i), "0") for i in range(1, 16)]
        for _ in range(tries):
            table = self.noise.sweep(16, 3, "normal", 10)
            hits[0] += apart(table, "1")
            hits[1] += grid.judge(table, asked).changes["1", "0"].resolved
        show("one of 16 arms +10 %, cv 3 %, 3 repeats: found", *(percent(h, tries) for h in hits), ">= 70 %")
        self.assertTrue(at_least(hits[1], tries, 0.7), hits)

    def test_a_steady_arm_among_restless_ones(self):
        """Most arms are 1 to 8 % apart from run to run; the two that are compared are 1 %."""
        rng, asked = self.noise.rng, [(str(i), "0") for i in range(1, 12)]
        for effect in (15, 0):
            tries, hits = 100 * MORE, [0, 0]
            for _ in range(tries):
                spread = 0.03 * np.exp(rng.normal(0, 1, 12))
                spread[:2] = 0.01
                figures = 1e5 * np.exp(spread[:, None] * rng.standard_normal((12, 3)))
                figures[1] *= 1 + effect / 100
                table = {str(i): dict(enumerate(row.tolist())) for i, row in enumerate(figures)}
                hits[0] += any(apart(table, arm) for arm, _ in asked[:1 if effect else None])
                changes = grid.judge(table, asked).changes
                hits[1] += changes["1", "0"].resolved if effect else any(c.resolved for c in changes.values())
            show(f"12 arms x 3 of unlike spread, a steady one +{effect} %: found", *(percent(h, tries) for h in hits), ">= 70 %" if effect else "<= 5 %")
            self.assertTrue(at_least(hits[1], tries, 0.7) if effect else at_most(hits[1], tries, 0.06), hits)

    def test_a_noisy_arm_beside_quiet_ones(self):
        """What an arm's own runs are worth is not lost to a neighbour that is fifteen times as noisy."""
        asked, tries = [(str(i), "0") for i in range(1, 9)], 80 * MORE
        for what, spreads in (("one noisy", selftest.ONE_NOISY), ("noise grows along an axis", selftest.GROWING)):
            for repeats in (3, 5):
                hits = [0, 0]
                for _ in range(tries):
                    table = self.noise.unlike(repeats, spreads)
                    hits[0] += any(apart(table, arm) for arm, _ in asked)
                    hits[1] += any(c.resolved for c in grid.judge(table, asked).changes.values())
                show(f"9 equal arms x {repeats}, {what}", *(percent(h, tries) for h in hits), "<= 5 %")
                self.assertTrue(at_most(hits[1], tries, 0.06), (what, repeats, hits))
        hits = [0, 0]
        for _ in range(tries):
            table = self.noise.unlike(4, selftest.ONE_NOISY, 10)
            hits[0] += apart(table, "1")
            hits[1] += grid.judge(table, asked).changes["1", "0"].resolved
        show("one of 9 arms +10 %, cv 1 %, another 15 %, 4 repeats: found", *(percent(h, tries) for h in hits), ">= 70 %")
        self.assertTrue(at_least(hits[1], tries, 0.7), hits)

    def test_intervals_say_what_verdicts_say(self):
        for seed in range(50):
            noise = selftest.Noise(np.random.default_rng(seed))
            for change in grid.judge(noise.sweep(8, 3, "normal", 8), [(str(i), "0") for i in range(1, 8)]).changes.values():
                self.assertEqual(change.resolved, not change.low <= 0 <= change.high, change)

    def test_sessions(self):
        rng, tries, hits, asked = self.noise.rng, 300 * MORE, [0, 0], [(("x", "2"), ("x", "1"))]
        for _ in range(tries):
            levels = rng.normal(0, 0.01, 2)
            hits[0] += scipy_stats.mannwhitneyu(*(level + rng.normal(0, 0.003, 6) for level in levels)).pvalue <= 0.05
            hits[1] += grid.judge(selftest.sessions(rng, (3, 3)), asked, rounds=False).changes[asked[0]].resolved
        show("equal arms, sessions 1 % apart (old 1 a side, new 3)", *(percent(h, tries) for h in hits), "<= 5 %")
        self.assertTrue(at_most(hits[1], tries, 0.05), hits)

    def test_tails(self):
        for p, truth in ((99.0, 80000.0), (99.9, 80000 * np.exp(0.1 * 1.6449))):
            tries, held = 60 * MORE, [0, 0]
            for _ in range(tries):
                bins = latency.Bins([selftest.histogram(self.noise.rng, 20000, np.exp(self.noise.rng.normal(0, 0.1))) for _ in range(10)])
                drawn = bins.percentiles(self.noise.rng.multinomial(10, [0.1] * 10, 400), (p,))[p]
                held[0] += np.quantile(drawn, 0.025) <= truth <= np.quantile(drawn, 0.975)
                ordered, (cut, _) = np.sort(bins.single((p,))[p]), pooled.median_ends(10)
                held[1] += ordered[cut - 1] <= truth <= ordered[-cut]
            show(f"p{p:g}, runs 10 % apart: the interval holds the median run's", *(percent(h, tries) for h in held), ">= 95 %")
            self.assertTrue(at_least(held[1], tries, 0.94), held)

    def test_until_resolved(self):
        tries, used, rule = 60 * MORE, [[], []], stopping.Rule((limits.Limit("iops", -1, -2.0),))
        for _ in range(tries):
            pairs = self.noise.pairs(100, 0.5)
            used[0].append(selftest.until(stopping.Rule(precision=2.0), pairs)[1])
            used[1].append(selftest.until(rule, pairs)[1])
        show("--fail-if 'iops < -2%', B +0.5 %: pairs until it ends", *(f"{np.mean(u):.1f}" for u in used), "fewer")
        self.assertLess(np.mean(used[1]), np.mean(used[0]))


if __name__ == "__main__":
    show("", "old", "new", "must be")
    unittest.main()
