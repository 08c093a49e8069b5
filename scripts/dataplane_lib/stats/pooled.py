# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles from latency histograms of several runs added up, and how sure they are.

A histogram is what fiojson.bins() gives: {ns: I/Os}, all jobs of a run together. The I/Os of a run
are no independent draws (a slow moment is slow for many of them), so it is runs that are
drawn again, each with its whole histogram.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats as _scipy

from . import ranks
from .latency import Bins
from ..model.metrics import FEWEST_BEYOND, beyond
from .ranks import FEWEST_PAIRS, LEVEL, Comparison

_RESAMPLES = 2000
_SEED = 20140916


@dataclass
class Percentile:
    """A percentile in ns with its interval; LEVEL is the confidence it really has."""
    value: float
    low: float
    high: float
    level: float
    notes: list = field(default_factory=list)


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
        few = beyond(total, p)
        if few < FEWEST_BEYOND:
            out[p].notes.append(f"p{p:g} rests on {few:.1g} I/Os beyond it" if few >= 1
                                else f"p{p:g} is the longest I/O seen: {total:.0f} I/Os are too few for it")
    return out


def _within(bins, p, total):
    """Order statistics: the ranks between which the binomial law puts the P-th percentile."""
    places = [100 * max(rank, 1) / total for rank in _scipy.binom.interval(LEVEL, int(total), p / 100)]
    return [bins.merged([place])[place] for place in places]


def _draws(runs, seed=_SEED):
    """Weights of RUNS drawn again with repetition; the same every time."""
    return np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), _RESAMPLES).astype(float)


def _tails(runs, level=LEVEL):
    level = ranks.widened(runs, level)
    return (1 - level) / 2, (1 + level) / 2


def paired(a, b, ps, level=LEVEL):
    """{p: Comparison} of B's merged percentile with A's; A[i] and B[i] are a pair of runs.

    The size is that of the merged percentiles, its interval from drawing pairs again. The test
    is the one for all figures, on the runs' own percentiles.
    """
    draw = _draws(len(a))
    return _compared(a, b, ps, draw, draw, lambda x, y: ranks.paired(x, y, level), lambda x, y: y / x)


def unpaired(a, b, ps, level=LEVEL):
    """{p: Comparison} of runs that belong to no pair."""
    return _compared(a, b, ps, _draws(len(a)), _draws(len(b), _SEED + 1), lambda x, y: ranks.unpaired(x, y, level),
                     lambda x, y: np.divide.outer(y, x))


def _compared(a, b, ps, draw_a, draw_b, test, ratios):
    one, two = Bins(a), Bins(b)
    merged, drawn, single = [], [], []
    for arm, draw in ((one, draw_a), (two, draw_b)):
        merged.append(arm.merged(ps))
        drawn.append(arm.percentiles(draw, ps))
        single.append(arm.single(ps))
    out = {}
    for p in ps:
        found = test(single[0][p], single[1][p])
        seen = merged[1][p] / merged[0][p]
        if found.enough:
            ends = np.quantile(drawn[1][p] / drawn[0][p], _tails(found.n, found.wanted))
        else:
            ends = np.sort(ratios(single[0][p], single[1][p]).ravel())[[0, -1]]
        change = [100 * (r - 1) for r in (seen, min(ends[0], seen), max(ends[1], seen))]
        # The odd case of runs that go one way and their sum the other tells of nothing.
        told = found.p if change[0] * found.estimate > 0 else 1.0
        out[p] = Comparison("ratio", *(float(c) for c in change), told, found.n, found.level, found.wanted, found.least, found.notes)
    return out
