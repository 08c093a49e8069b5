# SPDX-License-Identifier: GPL-2.0-only
"""dataplane selftest: made-up runs whose truth is known, and what the statistics say about them.

Every rate is printed with what it must be; one that cannot be chance is a failure.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats as _scipy

from ..judge import verdict
from . import doubts, ranks

# A rate is wrong when chance would give it less often than this.
_CHANCE = 1e-3


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


class Noise:
    """Runs as machines give them: 1 % apart, one in twenty thrown well down, on a level that wanders."""

    def __init__(self, rng):
        self.rng = rng

    def pairs(self, n, effect=0.0, drift=0.0, modes=False):
        """N pairs of runs (A, B) around 100000: B is EFFECT % more, the level drifts DRIFT % in all.

        With MODES every run falls, whichever arm it is, into one of two modes a third apart.
        """
        rng, out = self.rng, []
        level = np.cumsum(rng.normal(0, 0.004, 2 * n)) + np.log1p(drift / 100) * np.linspace(0, 1, 2 * n)
        for place in (0, 1):
            noise = 0.008 * rng.standard_t(4, n) - rng.exponential(0.04, n) * (rng.random(n) < 0.05)
            # A B B A: who comes first alternates.
            when = 2 * np.arange(n) + (np.arange(n) + place) % 2
            out.append(1e5 * np.exp(noise + level[when] + place * np.log1p(effect / 100)))
            if modes:
                out[-1] *= np.where(rng.random(n) < 0.4, 1.5, 1.0)
        return out

    def run(self, iops, distance=100.0):
        """A whole run around IOPS, one request at a time, for the verdict on all metrics."""
        latency = 1e9 / iops * np.exp(0.1 * self.rng.standard_normal(400))
        step = 2.0 ** np.maximum(np.floor(np.log2(latency)) - 6, 0)
        values, counts = np.unique((latency // step * step).astype(int), return_counts=True)
        jitter = np.exp(0.02 * self.rng.standard_normal(6))
        names = ("target_cpu", "target_us_per_io", "kicks_per_s", "calls_per_s", "sleeps_per_io", "switches_per_io")
        return verdict.Run({"iops": iops, "lat_mean_us": 1e6 / iops, **dict(zip(names, 50 * jitter)),
                            **dict.fromkeys(("lat_p50_us", "lat_p99_us", "lat_p99.9_us", "lat_p99.99_us"), 1.0)},
                           dict(zip(values.tolist(), counts.tolist())), {"before": distance, "after": distance})


def rows(repetitions, seed):
    """Every check, as Rows."""
    noise = Noise(np.random.default_rng(seed))
    yield from _nothing(noise, repetitions)
    yield from _effects(noise, repetitions // 2)
    yield from _until(noise, repetitions // 4)
    yield from _said(noise, repetitions // 10)
    yield from _all_metrics(noise, repetitions // 20)
    yield from _bootstrap(noise, repetitions // 4)
    yield from _few_runs(noise, repetitions // 2)


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
    for n, m in ((4, 4), (5, 10)):
        hits = sum(ranks.unpaired(_free(noise, n), _free(noise, m)).resolved for _ in range(times // 2))
        yield Row(f"equal arms, {n} and {m} runs that are no pairs: found", hits, times // 2, at_most=0.05)


def _free(noise, n, apart=0.01):
    """N runs without a common level, APART from each other (1 is 100 %)."""
    return 1e5 * np.exp(apart * noise.rng.standard_t(4, n))


def _few_runs(noise, times):
    """Too few for a test: only what is obvious is told."""
    for n in (2, 3):
        found = [ranks.unpaired(_free(noise, n, 0.1), _free(noise, n, 0.1)) for _ in range(times)]
        yield Row(f"equal arms 10 % apart, {n} and {n} runs: told", sum(map(verdict.obvious, found)), times, at_most=0.05)
        yield Row(f"for comparison: outside each other's range, {n} and {n} runs", sum(f.low > 0 or f.high < 0 for f in found), times)
    found = [ranks.unpaired(_free(noise, 2), 2 * _free(noise, 2)) for _ in range(times)]
    yield Row("B is twice as much, 2 and 2 runs: told", sum(map(verdict.obvious, found)), times, at_least=0.99)


def _effects(noise, times):
    for effect, wanted in ((1.0, None), (3.0, 0.85), (10.0, 0.99)):
        found = [_found(noise.pairs(10, effect)) for _ in range(times)]
        hits = sum(f.resolved and f.estimate > 0 for f in found)
        yield Row(f"B is {effect:g} % more, 10 pairs: found, and which way", hits, times, at_least=wanted)
        missed = sum(not f.low <= effect <= f.high for f in found)
        yield Row(f"B is {effect:g} % more, 10 pairs: the interval misses it", missed, times, at_most=0.05)
    hits = sum(_found(noise.pairs(10, 3.0, drift=-10)).resolved for _ in range(times))
    yield Row("B is 3 % more while the level falls 10 %, 10 pairs: found", hits, times, at_least=0.8)


def _until(noise, times):
    """--until-resolved looks again and again; its level pays for that."""
    hits = 0
    for _ in range(times):
        a, b = noise.pairs(40)
        n = 10
        while n < len(a) and not ranks.narrow_enough(_found((a[:n], b[:n]), ranks.LEVEL_UNTIL), 2.0):
            n += 2
        hits += _found((a[:n], b[:n]), ranks.LEVEL_UNTIL).resolved
    yield Row("equal arms, on until the interval is 2 % wide: found", hits, times, at_most=0.05)


def _said(noise, times):
    flat = [noise.pairs(10) for _ in range(times)]
    yield Row("nothing special, 10 runs: two modes are told of", sum(bool(doubts.modes(a, "A")) for a, _ in flat),
              times, at_most=0.05)
    pairs = [noise.pairs(20, modes=True) for _ in range(times)]
    yield Row("two modes, 20 runs: told of", sum(bool(doubts.modes(a, "A")) for a, _ in pairs), times, at_least=0.8)
    yield Row("independent runs, 10 of them: drift is told of",
              sum(bool(doubts.drift(_free(noise, 10), "A")) for _ in range(times)), times, at_most=0.02)
    pairs = [noise.pairs(10, drift=-10) for _ in range(times)]
    yield Row("a level that falls 10 %, 10 runs: drift is told of", sum(bool(doubts.drift(a, "A")) for a, _ in pairs),
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


def run(repetitions=2000, seed=1):
    """Print every row; returns the exit status."""
    wrong = 0
    for row in rows(repetitions, seed):
        print(row.text, flush=True)
        wrong += row.wrong
    print(f"{wrong} wrong" if wrong else "all as they must be")
    return 1 if wrong else 0
