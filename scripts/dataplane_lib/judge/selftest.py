# SPDX-License-Identifier: GPL-2.0-only
"""dataplane selftest: made-up runs whose truth is known, and what the statistics say about them.

Every rate is printed with what it must be; one that cannot be chance is a failure.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats as _scipy

from . import verdict
from ..stats import doubts, grid, latency, limits, pooled, ranks, stopping

# A rate is wrong when chance would give it less often than this.
_CHANCE = 1e-3


@dataclass
class Run:
    """A made-up run: figures by metric, histogram of latencies, round trips before and after."""
    metrics: dict
    histogram: dict
    rtt: dict

    @property
    def distance(self):
        """Mean round trip in ns."""
        return (self.rtt["before"] + self.rtt["after"]) / 2


@dataclass
class Row:
    """HITS of TRIES; the true rate must be AT_MOST or AT_LEAST so much (shares of 1), or is only shown."""
    what: str
    hits: int
    tries: int
    at_most: float | None = None
    at_least: float | None = None

    @property
    def wrong(self):
        if self.at_most is not None:
            return _scipy.binom.sf(self.hits - 1, self.tries, self.at_most) < _CHANCE
        if self.at_least is not None:
            return _scipy.binom.cdf(self.hits, self.tries, self.at_least) < _CHANCE
        return False

    @property
    def text(self):
        wanted = ("" if self.at_most is None else f"at most {100 * self.at_most:g} %") or (
            "" if self.at_least is None else f"at least {100 * self.at_least:g} %")
        return (f"{self.what:<64} {100 * self.hits / self.tries:6.1f} %  {wanted}"
                + ("  WRONG" if self.wrong else "")).rstrip()


# Spreads of the arms of a small grid: one far noisier than the others, and a grid along an axis on which noise grows.
ONE_NOISY, GROWING = (0.01,) * 8 + (0.15,), (0.005,) * 3 + (0.03,) * 3 + (0.12,) * 3
KINDS = ("normal", "one in twenty thrown down", "every fourth run 5 % down", "autocorrelated", "wandering level", "two modes", "arms of unlike spread")


class Noise:
    """Runs as machines give them: 1 % apart, one in twenty thrown well down, on a level that wanders."""

    def __init__(self, rng):
        self.rng = rng

    def pairs(self, n, effect=0.0, drift=0.0, modes=False, every=0, related=False):
        """N pairs of runs (A, B) around 100000, a coin deciding each pair's order: B is EFFECT % more, the level drifts DRIFT % in all.

        With MODES every run falls, whichever arm it is, into one of two modes a third apart; EVERY so many runs one is 5 % down;
        RELATED runs have a level that forgets a tenth from one to the next.
        """
        rng, out = self.rng, []
        level = np.cumsum(rng.normal(0, 0.004, 2 * n)) + np.log1p(drift / 100) * np.linspace(0, 1, 2 * n)
        if every:
            level = level - 0.05 * ((np.arange(2 * n) + rng.integers(every)) % every == 0)
        if related:
            level = level + self.related(2 * n)
        first = rng.integers(0, 2, n)
        for place in (0, 1):
            noise = 0.008 * rng.standard_t(4, n) - rng.exponential(0.04, n) * (rng.random(n) < 0.05)
            when = 2 * np.arange(n) + (first + place) % 2
            out.append(1e5 * np.exp(noise + level[when] + place * np.log1p(effect / 100)))
            if modes:
                out[-1] *= np.where(rng.random(n) < 0.4, 1.5, 1.0)
        return out

    def related(self, n, spread=0.015):
        """N steps of a first-order autoregression with a coefficient of 0.9."""
        out, level = np.empty(n), 0.0
        for k in range(n):
            level = 0.9 * level + self.rng.normal(0, spread)
            out[k] = level
        return out

    def sweep(self, arms, repeats, kind, effect=0.0, cv=0.03):
        """{arm: {round: figure}} of a sweep of equal ARMS, in random order within each round; arm 1 is EFFECT % more."""
        rng, n = self.rng, arms * repeats
        made = rng.normal(0, 0.01, n)
        if kind == "normal":
            made *= cv / 0.01
        elif kind == KINDS[1]:
            made = 0.02 * rng.standard_t(4, n) - rng.exponential(0.1, n) * (rng.random(n) < 0.05)
        elif kind == KINDS[2]:
            made -= 0.05 * ((np.arange(n) + rng.integers(4)) % 4 == 0)
        elif kind == KINDS[3]:
            made = made / 2 + self.related(n)
        elif kind == KINDS[4]:
            made += np.cumsum(rng.normal(0, 0.004, n))
        elif kind == KINDS[5]:
            made += np.log(1.5) * (rng.random(n) < 0.4)
        when = np.array([rng.permutation(arms) for _ in range(repeats)]) + arms * np.arange(repeats)[:, None]
        spread = np.where(np.arange(arms) % 2, 8.0, 1.0) if kind == KINDS[6] else np.ones(arms)
        table = made[when].T * spread[:, None]
        table[1] += np.log1p(effect / 100)
        return {str(i): dict(enumerate((1e5 * np.exp(row)).tolist())) for i, row in enumerate(table)}

    def unlike(self, repeats, spreads, effect=0.0):
        """{arm: {round: figure}} of equal arms whose runs differ by SPREADS (1 is 100 %), an arm each; arm 1 is EFFECT % more."""
        return {str(i): dict(enumerate((1e5 * np.exp(self.rng.normal((i == 1) * np.log1p(effect / 100), spread, repeats))).tolist()))
                for i, spread in enumerate(spreads)}

    def run(self, iops, distance=100.0):
        """A whole run around IOPS, one request at a time, for the verdict on all metrics."""
        times = 1e9 / iops * np.exp(0.1 * self.rng.standard_normal(400))
        step = 2.0 ** np.maximum(np.floor(np.log2(times)) - 6, 0)
        values, counts = np.unique((times // step * step).astype(int), return_counts=True)
        histogram = dict(zip(values.tolist(), counts.tolist()))
        jitter = np.exp(0.02 * self.rng.standard_normal(6))
        names = ("target_cpu", "target_us_per_io", "kicks_per_io", "calls_per_io", "sleeps_per_io", "switches_per_io")
        return Run({"iops": iops, "lat_mean_us": 1e6 / iops, **dict(zip(names, 50 * jitter)),
                            **{f"lat_p{p:g}_us": ns / 1000 for p, ns in latency.percentiles(histogram, (50, 99, 99.9, 99.99)).items()}},
                   histogram, {"before": distance, "after": distance})


def rows(repetitions, seed):
    """Every check, as Rows."""
    noise = Noise(np.random.default_rng(seed))
    yield from _nothing(noise, repetitions)
    yield from _effects(noise, repetitions // 2)
    yield from _bins(noise, max(repetitions // 40, 20))
    yield from _sweeps(noise, repetitions // 10)
    yield from _sessions(noise, repetitions // 4)
    yield from _tails(noise, max(repetitions // 20, 40))
    yield from _until(noise, repetitions // 8)
    yield from _said(noise, repetitions // 10)
    yield from _all_metrics(noise, repetitions // 20)
    yield from _bootstrap(noise, repetitions // 8)


def _found(pairs, level=ranks.LEVEL):
    return ranks.paired(*pairs, level)


def _nothing(noise, times):
    for n in (6, 8, 10, 20):
        hits = sum(_found(noise.pairs(n)).resolved for _ in range(times))
        yield Row(f"equal arms, {n} pairs: a difference found", hits, times, at_most=0.05)
    hits = sum(_found(noise.pairs(10, modes=True)).resolved for _ in range(times))
    yield Row("equal arms with two modes, 10 pairs: a difference found", hits, times, at_most=0.05)
    hits = sum(_found(noise.pairs(10, drift=-10)).resolved for _ in range(times))
    yield Row("equal arms on a level that falls 10 %, 10 pairs: found", hits, times, at_most=0.05)
    for n in (6, 10, 20):
        hits = sum(_found(noise.pairs(n, every=4)).resolved for _ in range(times // 2))
        yield Row(f"equal arms, every fourth run 5 % down, {n} pairs: found", hits, times // 2, at_most=0.05)
    hits = sum(_found(noise.pairs(10, related=True)).resolved for _ in range(times // 2))
    yield Row("equal arms, autocorrelated runs, 10 pairs: found", hits, times // 2, at_most=0.05)


def _free(noise, n, apart=0.01):
    """N runs without a common level, APART from each other (1 is 100 %)."""
    return 1e5 * np.exp(apart * noise.rng.standard_t(4, n))


def histogram(rng, ios=4000, level=1.0, fio=True):
    """{ns: I/Os} of a run whose latencies are 20 us times LEVEL in the middle; in fio's bins, one in fifty four times as long."""
    times = 20000 * level * np.exp(0.1 * rng.standard_normal(ios)) * np.where(rng.random(ios) < 0.02, 4, 1)
    step = np.where(fio, 2.0 ** np.maximum(np.floor(np.log2(times)) - 6, 0), 1.0)
    values, counts = np.unique((times // step * step + step / 2).astype(int), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist()))


def _bins(noise, times):
    """Less than a bin is found, and its interval is where it should be."""
    hits, held = 0, 0
    for _ in range(times):
        each = [[latency.percentile(histogram(noise.rng, level=level * np.exp(noise.rng.normal(0, 0.003))), 50) for _ in range(20)]
                for level in (1.0, 1.01)]
        found = ranks.paired(*each)
        hits += found.resolved and found.estimate > 0
        held += found.low <= 1 <= found.high
    yield Row("p50 1 % more, runs 0.3 % apart, 20 pairs: found", hits, times, at_least=0.95)
    yield Row("p50 1 % more, runs 0.3 % apart, 20 pairs: the interval misses it", times - held, times, at_most=0.06)


def _asked(arms):
    return [(str(i), "0") for i in range(1, arms)]


def _sweeps(noise, times):
    """A whole grid of arms at once, in every kind of noise."""
    for arms, repeats in ((16, 4), (16, 3), (16, 2)):
        for kind in KINDS:
            hits = sum(any(c.resolved for c in grid.judge(noise.sweep(arms, repeats, kind), _asked(arms)).changes.values()) for _ in range(times))
            yield Row(f"{arms} equal arms x {repeats}, {kind}: any found", hits, times, at_most=0.05)
    hits = sum(grid.judge(noise.sweep(16, 3, "normal", 10), _asked(16)).changes["1", "0"].resolved for _ in range(times))
    yield Row("one of 16 arms 10 % more, cv 3 %, 3 repeats: found", hits, times, at_least=0.7)
    for what, spreads in (("one of them noisy", ONE_NOISY), ("noise growing along an axis", GROWING)):
        hits = sum(any(c.resolved for c in grid.judge(noise.unlike(3, spreads), _asked(9)).changes.values()) for _ in range(times))
        yield Row(f"9 equal arms x 3, {what}: any found", hits, times, at_most=0.05)
    hits = sum(grid.judge(noise.unlike(4, ONE_NOISY, 10), _asked(9)).changes["1", "0"].resolved for _ in range(times))
    yield Row("a quiet one of 9 arms 10 % more, one noisy, 4 repeats: found", hits, times, at_least=0.7)


def sessions(rng, sides, runs=4, apart=0.01, effect=0.0):
    """{(arm, side): {session: figure}} of SIDES = (sessions before, after), each session on a level of its own."""
    return {("x", side): {(side, k): 1e5 * np.exp(np.median(rng.normal(0, 0.003, runs)) + rng.normal(0, apart) + (side == "2") * np.log1p(effect / 100))
                          for k in range(n)} for side, n in zip("12", sides)}


def _sessions(noise, times):
    asked = [(("x", "2"), ("x", "1"))]
    for n in (3, 5):
        hits = sum(grid.judge(sessions(noise.rng, (n, n)), asked, rounds=False).changes[asked[0]].resolved for _ in range(times))
        yield Row(f"equal arms, {n} and {n} sessions 1 % apart: found", hits, times, at_most=0.05)


def _tails(noise, times):
    """The interval of a percentile, of runs that are 10 % apart."""
    # The slow fiftieth has its middle at 99 %, and its 95th percentile at 99.9 %.
    for p, truth in ((99.0, 80000.0), (99.9, 80000 * np.exp(0.1 * 1.6449))):
        missed = 0
        for _ in range(times):
            found = pooled.intervals([histogram(noise.rng, 20000, np.exp(noise.rng.normal(0, 0.1))) for _ in range(10)], (p,))[p]
            missed += not found.low <= truth <= found.high
        yield Row(f"p{p:g} of 10 runs that are 10 % apart: the interval misses it", missed, times, at_most=0.06)


def _effects(noise, times):
    for effect, wanted in ((1.0, None), (3.0, 0.85), (10.0, 0.99)):
        found = [_found(noise.pairs(10, effect)) for _ in range(times)]
        hits = sum(f.resolved and f.estimate > 0 for f in found)
        yield Row(f"B is {effect:g} % more, 10 pairs: found, and which way", hits, times, at_least=wanted)
        missed = sum(not f.low <= effect <= f.high for f in found)
        yield Row(f"B is {effect:g} % more, 10 pairs: the interval misses it", missed, times, at_most=0.05)
    hits = sum(_found(noise.pairs(10, 3.0, drift=-10)).resolved for _ in range(times))
    yield Row("B is 3 % more while the level falls 10 %, 10 pairs: found", hits, times, at_least=0.8)


def until(rule, pairs, start=10):
    """(Comparison, pairs used) of going on by RULE through PAIRS, all that there will be."""
    a, b = pairs
    n = start
    while True:
        found = ranks.paired(a[:n], b[:n], rule.level)
        following = stopping.next_look(n) if rule.precision is None else n + 2
        over = rule.settled({one.key: (a[:n], b[:n]) for one in rule.limits}) if rule.limits else rule.decided(found)
        if over or following > len(a):
            return found, n
        n = following


def _until(noise, times):
    """Looking again and again; the level pays for that."""
    for what, rule, kinds in (("--precision 2", stopping.Rule(precision=2.0), ({},)),
                              ("--until-resolved", stopping.Rule(), ({}, {"every": 4}, {"related": True}, {"drift": -10}))):
        for kind in kinds:
            hits = sum(until(rule, noise.pairs(60, **kind))[0].resolved for _ in range(times))
            name = {"every": ", every fourth run 5 % down", "related": ", autocorrelated", "drift": ", drifting 10 %"}.get(next(iter(kind), ""), "")
            yield Row(f"equal arms{name}, {what}: found", hits, times, at_most=0.05)
    rule = stopping.Rule((limits.Limit("iops", -1, -2.0),))
    for effect, wrong in ((-2.0, "decided wrongly"), (0.0, "decided wrongly")):
        ends = [until(rule, noise.pairs(60, effect))[0] for _ in range(times)]
        hits = sum(f.high < -2.0 for f in ends)
        yield Row(f"B {effect:g} %, --fail-if 'iops < -2%' --until-resolved: {wrong}", hits, times, at_most=0.05)


def _said(noise, times):
    flat = [noise.pairs(10) for _ in range(times)]
    yield Row("nothing special, 10 runs: two modes are reported", sum(bool(doubts.modes(a, "A")) for a, _ in flat),
              times, at_most=0.05)
    pairs = [noise.pairs(20, modes=True) for _ in range(times)]
    yield Row("two modes, 20 runs: reported", sum(bool(doubts.modes(a, "A")) for a, _ in pairs), times, at_least=0.8)
    yield Row("independent runs, 10 of them: drift is reported",
              sum(bool(doubts.drift(_free(noise, 10), "A")) for _ in range(times)), times, at_most=0.02)
    pairs = [noise.pairs(10, drift=-10) for _ in range(times)]
    yield Row("a level that falls 10 %, 10 runs: drift is reported", sum(bool(doubts.drift(a, "A")) for a, _ in pairs),
              times, at_least=0.6)


def _all_metrics(noise, times):
    """The whole verdict: primary and all others together."""
    any_other, primary = 0, 0
    for _ in range(times):
        a, b = ([noise.run(v) for v in values] for values in noise.pairs(10))
        found = verdict.of_pairs(a, b, "iops")
        primary += found.lines[0].direction != 0
        any_other += any(line.direction for line in found.lines[1:] if line.key != "lat_mean_us")
    yield Row("equal arms, all metrics: the primary one found", primary, times, at_most=0.05)
    yield Row("equal arms, all metrics: any other one found", any_other, times, at_most=0.05)


def _bootstrap(noise, times):
    """Why the verdict does not rest on the bootstrap."""
    for n in (6, 10):
        for widen in (False, True):
            missed = 0
            for _ in range(times):
                low, high = ranks.bootstrap(*noise.pairs(n), True, widen=widen, resamples=400)
                missed += not low <= 0 <= high
            yield Row(f"for comparison: {'widened' if widen else 'plain'} bootstrap of the median, {n} pairs: found",
                      missed, times)


def run(repetitions=2000, seed=1, found=None):
    """Print every row, and put it into the list FOUND, if there is one; returns the exit status."""
    wrong = 0
    for row in rows(repetitions, seed):
        print(row.text, flush=True)
        wrong += row.wrong
        if found is not None:
            found.append({"what": row.what, "hits": row.hits, "tries": row.tries, "at_most": row.at_most, "at_least": row.at_least, "wrong": bool(row.wrong)})
    print(f"{wrong} wrong" if wrong else "all as they must be")
    return 1 if wrong else 0
