# SPDX-License-Identifier: GPL-2.0-only
"""What makes one doubt a comparison, each said in a sentence: two modes, drift, unequal distance.

Nothing here changes a figure. Each check raises a false alarm about once in a
hundred tries, so what it says is worth reading. An empty text means nothing was found.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import stats as _scipy

from .. import units
from ..host import rtt
from . import ranks

_ALARM = 0.01
# Neighbouring bins of fio's latency histograms are up to 1.6 % apart: no modes, but one bin or the other.
_MODES_APART = 0.02
_FEWEST = 8


def modes(values, name):
    """Says so when VALUES, in the order of time, fall into two groups with nothing between."""
    x = np.asarray(values, float)
    if len(x) < _FEWEST or (x <= 0).any():
        return ""
    ordered = np.sort(np.log(x))
    gap, place = (float(v[0]) for v in _widest_gap(ordered[None, :]))
    place = int(place)
    if gap <= _usual_gap(len(x)) or ordered[place] - ordered[place - 1] < _MODES_APART:
        return ""
    upper = np.log(x) >= ordered[place]
    changes = int((upper[1:] != upper[:-1]).sum())
    groups = [f"{int(side.sum())} runs around {units.short(float(np.median(x[side])))}" for side in (~upper, upper)]
    if changes == 1:
        when = int(np.argmax(upper != upper[0])) + 1
        return (f"{name} jumped once, at run {when} of {len(x)}: {' and '.join(groups)}; "
                "something changed then and stayed")
    return (f"{name} has two modes: {' and '.join(groups)}, going from one to the other {changes} times; "
            "its middle is a value that hardly any run had")


def _widest_gap(ordered):
    """For each sorted row: the emptiest place that leaves a group on each side.

    Returns (gap in standard deviations of the wider group, index of the upper group's
    first). One odd run, or 15 %, is no group.
    """
    n = ordered.shape[1]
    smallest = max(2, math.ceil(0.15 * n))
    best, where = np.full(len(ordered), -1.0), np.zeros(len(ordered), int)
    for k in range(smallest, n - smallest + 1):
        spread = np.maximum(ordered[:, :k].std(axis=1, ddof=1), ordered[:, k:].std(axis=1, ddof=1))
        # A hair instead of 0: groups of equal values are as far apart as can be.
        gap = (ordered[:, k] - ordered[:, k - 1]) / np.maximum(spread, 1e-9)
        where = np.where(gap > best, k, where)
        best = np.maximum(best, gap)
    return best, where


@lru_cache(maxsize=64)
def _usual_gap(n, rows=4000):
    """What N values of one mode exceed once in a hundred times: the worst of three shapes.

    Flat, bell-shaped and one-sided: neither wide shoulders nor a long tail are two modes.
    """
    rng = np.random.default_rng(n)
    shapes = (rng.random((rows, n)), rng.normal(size=(rows, n)), rng.exponential(size=(rows, n)))
    return max(float(np.quantile(_widest_gap(np.sort(s, axis=1))[0], 1 - _ALARM)) for s in shapes)


def drift(values, name):
    """Says so when VALUES, in the order of time, go one way, and how far apart its halves are."""
    x = np.asarray(values, float)
    if len(x) < _FEWEST or np.ptp(x) == 0:
        return ""
    trend = _scipy.kendalltau(np.arange(len(x)), x)
    if trend.pvalue > _ALARM:
        return ""
    half = len(x) // 2
    before, after = float(np.median(x[:half])), float(np.median(x[-half:]))
    moved = f", {units.percent(100 * (after / before - 1))}" if before > 0 else ""
    return (f"{name} drifted: its median was {units.short(before)} in the first half of the time and "
            f"{units.short(after)} in the second{moved} (rank correlation with time {trend.statistic:+.2f})")


def distance(a, b, change):
    """What the round trips A and B of paired runs (ns) mean for CHANGE, the log ratios of their figures.

    Returns sentences; none where no round trip was measured.
    """
    known = [(x, y, c) for x, y, c in zip(a, b, change) if x is not None and y is not None]
    if len(known) < 2:
        return []
    x, y, c = (np.asarray(column, float) for column in zip(*known))
    middle = float(np.median(x)), float(np.median(y))
    said = (f"cache-line round trip: A {middle[0]:.0f} ns, B {middle[1]:.0f} ns (medians)")
    out = []
    ratio = max(middle) / min(middle)
    if ratio > rtt.CHANGED:
        out.append(f"{said}: the arms did not have the same distance between cores, and a difference may be due to that")
    elif len(known) >= ranks.FEWEST_PAIRS and ratio > 1.03 and ranks.paired(x, y).resolved:
        out.append(f"{said}: a small but steady difference in distance between cores")
    far = np.log(y / x)
    if len(known) >= _FEWEST and np.ptp(far) > 0 and np.ptp(c) > 0:
        follows = _scipy.kendalltau(far, c)
        if follows.pvalue <= _ALARM:
            out.append("the difference of a pair follows its difference in distance between cores "
                       f"(rank correlation {follows.statistic:+.2f}): part of the spread is the machine's")
    return out
