# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles from latency histograms of several runs added up, and how sure they are.

A histogram is what fiojson.bins() gives: {ns: I/Os}, all jobs of a run together. The I/Os of a run
are no independent draws (a slow moment is slow for many of them), so it is runs that are
drawn again, or swapped between the arms, each with its whole histogram.
"""

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy import stats as _scipy

from .stats import FEWEST_PAIRS, LEVEL, Comparison, widened

_RESAMPLES = 2000
_SWAPS = 4096
_SEED = 20140916
# A percentile that fewer I/Os than this lie beyond is the story of those few.
_FEWEST_BEYOND = 10


@dataclass
class Percentile:
    """A percentile in ns with its interval; LEVEL is the confidence it really has."""
    value: float
    low: float
    high: float
    level: float
    notes: list = field(default_factory=list)


class Bins:
    """Histograms of several runs over one axis: COUNTS has a row a run."""

    def __init__(self, histograms, axis=None):
        self.axis = np.array(sorted(set().union(*histograms))) if axis is None else axis
        place = {int(v): i for i, v in enumerate(self.axis)}
        self.counts = np.zeros((len(histograms), len(self.axis)))
        for row, histogram in zip(self.counts, histograms):
            for value, count in histogram.items():
                row[place[value]] = count

    def percentiles(self, weights, ps):
        """{p: ns, one for each row of WEIGHTS}: how often each run is in the sum."""
        seen = np.cumsum(weights @ self.counts, axis=1)
        # fio's own rule: the first bin that P % do not exceed (a share may come out a hair off).
        return {p: self.axis[(seen < p / 100 * seen[:, -1:] * (1 - 1e-12)).sum(axis=1)] for p in ps}

    def merged(self, ps):
        """{p: ns} of all runs."""
        return {p: float(v[0]) for p, v in self.percentiles(np.ones((1, len(self.counts))), ps).items()}

    def single(self, ps):
        """{p: ns of each run by itself}."""
        return self.percentiles(np.eye(len(self.counts)), ps)


def intervals(histograms, ps):
    """{p: Percentile} of the merged HISTOGRAMS, one for each run.

    From six runs on, runs are drawn again. Two to five: the range of the runs by
    themselves, between which the merged percentile always lies. One: the ranks that
    the percentile of so many independent I/Os may have, which is the least the doubt can be.
    """
    bins = Bins(histograms)
    runs, total = len(histograms), float(bins.counts.sum())
    middle = bins.merged(ps)
    if runs >= FEWEST_PAIRS:
        drawn = bins.percentiles(_draws(runs), ps)
        ends = {p: np.quantile(drawn[p], _tails(runs)) for p in ps}
        level, note = LEVEL, None
    elif runs > 1:
        ends = {p: (v.min(), v.max()) for p, v in bins.single(ps).items()}
        level, note = 1 - 2.0 ** (1 - runs), f"the interval is the range of {runs} runs"
    else:
        ends = {p: _within(bins, p, total) for p in ps}
        level, note = 0.0, "one run: how runs differ is not in the interval"
    out = {}
    for p in ps:
        out[p] = Percentile(middle[p], float(ends[p][0]), float(ends[p][1]), level, [note] if note else [])
        beyond = total * (1 - p / 100)
        if beyond < _FEWEST_BEYOND:
            out[p].notes.append(f"p{p:g} rests on {beyond:.1g} I/Os beyond it" if beyond >= 1
                                else f"p{p:g} is the longest I/O seen: {total:.0f} I/Os are too few for it")
    return out


def _within(bins, p, total):
    """Order statistics: the ranks between which the binomial law puts the P-th percentile."""
    ranks = _scipy.binom.interval(LEVEL, int(total), p / 100)
    seen = np.cumsum(bins.counts[0])
    return [bins.axis[min(int(np.searchsorted(seen, max(r, 1))), len(seen) - 1)] for r in ranks]


def _draws(runs, seed=_SEED):
    """Weights of RUNS drawn again with repetition; the same every time."""
    return np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), _RESAMPLES).astype(float)


def _tails(runs, level=LEVEL):
    level = widened(runs, level)
    return (1 - level) / 2, (1 + level) / 2


def paired(a, b, ps, level=LEVEL):
    """{p: Comparison} of B's merged percentile with A's; A[i] and B[i] are a pair of runs.

    The test swaps the runs of a pair, whole: equal arms would be as likely either way round.
    """
    both = Bins(list(a) + list(b))
    n = len(a)
    signs = _swaps(n)
    stay = (signs + 1) / 2
    swapped = _log_ratio(both, np.hstack([stay, 1 - stay]), np.hstack([1 - stay, stay]), ps)
    draw = _draws(n)
    none = np.zeros_like(draw)
    drawn = _log_ratio(both, np.hstack([draw, none]), np.hstack([none, draw]), ps)
    single = both.single(ps)
    range_of = {p: np.log(single[p][n:] / single[p][:n]) for p in ps}
    return {p: _comparison(swapped[p], drawn[p], range_of[p], n, 2.0 ** (1 - n), level) for p in ps}


def unpaired(a, b, ps, level=LEVEL):
    """{p: Comparison} of runs that belong to no pair: the test deals the runs out anew."""
    both = Bins(list(a) + list(b))
    n, m = len(a), len(b)
    rng = np.random.default_rng(_SEED)
    deal = np.zeros((_SWAPS, n + m))
    deal[0, :n] = 1
    for row in deal[1:]:
        row[rng.permutation(n + m)[:n]] = 1
    dealt = _log_ratio(both, deal, 1 - deal, ps)
    left, right = _draws(n), _draws(m, _SEED + 1)
    drawn = _log_ratio(both, np.hstack([left, np.zeros((len(left), m))]),
                       np.hstack([np.zeros((len(right), n)), right]), ps)
    single = both.single(ps)
    range_of = {p: np.log(np.divide.outer(single[p][n:], single[p][:n])).ravel() for p in ps}
    return {p: _comparison(dealt[p], drawn[p], range_of[p], min(n, m), 2 / math.comb(n + m, n), level) for p in ps}


def _swaps(n):
    """Every way to swap within N pairs where they are few, else some; as it was comes first."""
    if 2 ** n <= _SWAPS:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    signs = np.random.default_rng(_SEED).choice((1.0, -1.0), (_SWAPS, n))
    signs[0] = 1
    return signs


def _log_ratio(both, a, b, ps):
    """{p: log of B's over A's}, for each row of weights."""
    left, right = both.percentiles(a, ps), both.percentiles(b, ps)
    return {p: np.log(right[p] / left[p]) for p in ps}


def _comparison(null, drawn, span, n, smallest, level):
    """NULL[0] is what was seen; SMALLEST the least p that so few runs can give."""
    seen = null[0]
    p = float((np.abs(null) >= abs(seen) - 1e-12).mean())
    enough = smallest <= 1 - level and n > 2
    ends = np.quantile(drawn, _tails(n, level)) if enough else (span.min(), span.max())
    low, high = min(ends[0], seen), max(ends[1], seen)
    return Comparison("ratio", *(100 * math.expm1(v) for v in (seen, low, high)), p, n,
                      level if enough else 1 - smallest, level)
