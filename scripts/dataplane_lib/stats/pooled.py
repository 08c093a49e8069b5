# SPDX-License-Identifier: GPL-2.0-only
"""How sure a percentile of several runs is.

The I/Os of a run are no independent draws (a slow moment is slow for many of them), so the run is the unit: what is told is the median over
runs of each run's own percentile, with its exact interval from order statistics (Conover 1999, "Practical Nonparametric Statistics", 3.2; no shape of
noise is assumed). The percentile of all I/Os together is a picture: runs with more I/Os, and single bad runs, weigh more in it.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats as _scipy

from ..model.metrics import FEWEST_BEYOND, beyond
from .latency import Bins
from .ranks import LEVEL


@dataclass
class Percentile:
    """A percentile in ns with its interval; LEVEL is the confidence it really has, MERGED that of all I/Os together."""
    value: float
    low: float
    high: float
    level: float
    merged: float
    notes: list = field(default_factory=list)


def median_ends(runs, level=LEVEL):
    """(k, true level): the k-th smallest and largest of RUNS values hold their law's median with LEVEL; k is 1 at least."""
    k = max(1, int(_scipy.binom.ppf((1 - level) / 2, runs, 0.5)))
    while k > 1 and 2 * _scipy.binom.cdf(k - 1, runs, 0.5) > 1 - level:
        k -= 1
    return k, max(0.0, 1 - 2 * float(_scipy.binom.cdf(k - 1, runs, 0.5)))


def intervals(histograms, ps):
    """{p: Percentile} of the HISTOGRAMS, one for each run.

    Two to five runs: the interval is their range, with what confidence that has. One: the ranks that
    the percentile of so many independent I/Os may have, which is the least the doubt can be.
    """
    bins = Bins(histograms)
    runs, total = len(histograms), float(bins.counts.sum())
    merged, single = bins.merged(ps), bins.single(ps)
    cut, level = median_ends(runs)
    out = {}
    for p in ps:
        ordered = np.sort(single[p])
        low, high = (ordered[cut - 1], ordered[-cut]) if runs > 1 else _within(bins, p, total)
        out[p] = Percentile(float(np.median(ordered)), float(low), float(high), level if runs > 1 else 0.0, merged[p])
        if runs == 1:
            out[p].notes.append("one run: the interval does not cover how runs differ")
        elif level < LEVEL:
            out[p].notes.append(f"the interval is the range of {runs} runs")
        few = beyond(total, p)
        if few < FEWEST_BEYOND:
            out[p].notes.append(f"p{p:g} unreliable: fewer than {FEWEST_BEYOND} samples above it")
    return out


def _within(bins, p, total):
    """Order statistics: the ranks between which the binomial law puts the P-th percentile."""
    places = [100 * max(rank, 1) / total for rank in _scipy.binom.interval(LEVEL, int(total), p / 100)]
    return [bins.merged([place])[place] for place in places]
