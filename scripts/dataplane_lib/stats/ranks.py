# SPDX-License-Identifier: GPL-2.0-only
"""Two samples compared: how far apart, how surely, and what makes one doubt it.

The verdicts use exact rank tests and the intervals that belong to them (Hodges
and Lehmann), because they keep their promise for six pairs as well as for
sixty. No run is ever left out for its value; the ranks of pairs are capped
instead, so that one odd pair of ten neither makes a verdict nor prevents one.
The bootstrap, which promises 95 % and holds less when there are six to ten
runs, is a second opinion (`dataplane selftest` counts both). See docs/statistics.md.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy import stats as _scipy

from .. import units

LEVEL = 0.95
# Fewer pairs than this cannot give p <= 0.05, whatever they say: 2 / 2^5 is 0.06.
FEWEST_PAIRS = 6
# Going on until an interval is narrow stops a little more often where it is narrow by chance:
# asked for at 97 %, it holds 95 (the self-test counts).
LEVEL_UNTIL = 0.97
_RESAMPLES = 4000
_SEED = 20140915


@dataclass
class Comparison:
    """B against A. KIND "ratio": figures are changes in %; "difference": in the metric's unit.

    LEVEL is the confidence that the interval really has; below the one WANTED there were
    too few runs for any answer. LEAST is the smallest p that so many runs can have. NOTES are sentences for the reader.
    """
    kind: str
    estimate: float
    low: float
    high: float
    p: float
    n: int
    level: float
    wanted: float = LEVEL
    least: float = 0.0
    notes: list = field(default_factory=list)

    @property
    def enough(self):
        """There were runs enough for an answer of either kind."""
        return self.level >= self.wanted

    @property
    def resolved(self):
        """A difference was found: the test says so, and the interval leaves out 0."""
        return self.enough and self.p <= 1 - self.wanted and not self.low <= 0 <= self.high

    @property
    def width(self):
        """From one end of the interval to the other; infinite where it says nothing."""
        return self.high - self.low if self.enough else math.inf


def _scale(a, b):
    """(a, b, kind): logarithms, so that differences are ratios, unless there is a 0."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a sample holds what is not a number")
    if (a > 0).all() and (b > 0).all():
        return np.log(a), np.log(b), "ratio"
    return a, b, "difference"


def _back(kind, value):
    """A difference on the scale of _scale() as a change in %, or as it is."""
    return 100 * math.expm1(value) if kind == "ratio" else float(value)


@lru_cache(maxsize=256)
def _signed_tail(doubled):
    """P(sum of the scores with a + is at most k), k in half points; DOUBLED: twice each score."""
    ways = np.ones(1)
    for score in doubled:
        grown = np.zeros(len(ways) + score)
        grown[:len(ways)] += ways
        grown[score:] += ways
        ways = grown / 2
    return np.cumsum(ways)


def _capped(ranks, n):
    """Twice the scores of RANKS among N: ranks, but those of the upper half all count the same.

    Wilcoxon's own scores grow to the end, so that one run thrown down by somebody else outweighs
    two good ones. Capped at half, the test loses a little for noise shaped like a bell and
    gains a lot for what machines give (Policello and Hettmansperger 1976 call it Winsorized).
    """
    return np.minimum(np.rint(2 * ranks), max(n, 2)).astype(int)


def _signed_p(d):
    """Two-sided exact p of the signed-rank test; equal sizes share their ranks."""
    scores = _capped(_scipy.rankdata(np.abs(d)), len(d))
    total = int(scores[d != 0].sum())
    if not total:
        return 1.0
    tail = _signed_tail(tuple(sorted(scores[d != 0].tolist())))
    up = int(scores[d > 0].sum())
    return float(min(1.0, 2 * tail[min(up, total - up)]))


def centre(d, level):
    """(middle, low, high, true level): the shifts of D that the signed-rank test does not reject.

    The test changes its mind only where two differences, or one by itself, are as far from the shift on
    either side: at the means of all pairs of them (Walsh averages).
    """
    n = len(d)
    i, j = _triangle(n)
    walsh = np.unique((d[i] + d[j]) / 2)
    between = np.concatenate([walsh[:1] - 1, (walsh[1:] + walsh[:-1]) / 2, walsh[-1:] + 1])
    left = d - between[:, None]
    order = np.argsort(np.abs(left), axis=1)
    scores = _capped(np.arange(1, n + 1), n)
    # Falls from all to nothing, step by step.
    up = (scores * (np.take_along_axis(left, order, axis=1) > 0)).sum(axis=1)
    total = int(scores.sum())
    tail = _signed_tail(tuple(scores.tolist()))
    cut = max(_last(tail, (1 - level) / 2), 0)
    low = walsh[np.argmax(up < total - cut) - 1]
    high = walsh[len(up) - 1 - np.argmax(up[::-1] > cut)]
    middle = (walsh[np.argmax(2 * up <= total) - 1] + walsh[np.argmax(2 * up < total) - 1]) / 2
    return float(middle), float(low), float(high), max(0.0, 1 - 2 * float(tail[cut]))


def _last(tail, share):
    """The last k with TAIL[k] no more than SHARE, -1 if there is none."""
    return int(np.searchsorted(tail, share * (1 + 1e-12), side="right")) - 1


@lru_cache(maxsize=64)
def _triangle(n):
    return np.triu_indices(n)


def paired(a, b, level=LEVEL):
    """Runs made in pairs: A[i] and B[i] are neighbours in time.

    Exact under the assumption that a pair of equal arms is as likely to fall
    one way round as the other, whatever the shape of the noise.
    """
    x, y, kind = _scale(a, b)
    if len(x) != len(y) or not len(x):
        raise ValueError("pairs want as many runs of A as of B, and one at least")
    d = y - x
    middle, low, high, true = centre(d, level)
    found = Comparison(kind, _back(kind, middle), _back(kind, low), _back(kind, high),
                       _signed_p(d), len(d), true, level, 2.0 ** (1 - len(d)))
    if true < level:
        found.notes.append(f"{units.counted(len(d), 'pair')} are too few for {100 * level:g} % "
                           f"(needs {FEWEST_PAIRS}): the interval is the whole range")
    return found


def widened(n, level=LEVEL):
    """The level to ask of a percentile bootstrap of N runs so that it holds LEVEL.

    Plain, it is too narrow twice over: it takes the spread with n instead of n-1, and
    the normal law's quantiles instead of Student's (Hesterberg 2015, "What teachers
    should know about the bootstrap", 2.4.2).
    """
    t = _scipy.t.ppf((1 + level) / 2, n - 1)
    return 1 - 2 * float(_scipy.norm.sf(t * math.sqrt(n / (n - 1))))


def bootstrap(a, b, is_paired, level=LEVEL, widen=True, resamples=_RESAMPLES):
    """(low, high) of the change of the median, runs drawn again with repetition.

    The percentile method, WIDENed for few runs. Not BCa: its acceleration comes from leaving one
    run out at a time, and a median then takes two values only, so there is nothing to estimate it from.
    The same input gives the same interval: the draws are seeded.
    """
    x, y, kind = _scale(a, b)
    if min(len(x), len(y)) < 2:
        raise ValueError("one run cannot be drawn again")
    rng = np.random.default_rng(_SEED)
    draw = rng.integers(0, len(x), (resamples, len(x)))
    if is_paired:
        middles = np.median((y - x)[draw], axis=1)
    else:
        again = rng.integers(0, len(y), (resamples, len(y)))
        middles = np.median(y[again], axis=1) - np.median(x[draw], axis=1)
    if widen:
        level = widened(min(len(x), len(y)), level)
    low, high = np.quantile(middles, [(1 - level) / 2, (1 + level) / 2])
    return _back(kind, low), _back(kind, high)


def holm(ps):
    """P-values made fit to be looked at together (Holm 1979): the same order, never smaller."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out, worst = [0.0] * len(ps), 0.0
    for place, i in enumerate(order):
        worst = max(worst, min(1.0, ps[i] * (len(ps) - place)))
        out[i] = worst
    return out


def holm_levels(ps, level=LEVEL):
    """The level of each interval with which it leaves out 0 exactly where Holm's rule finds a difference.

    Stepping down from the smallest of PS each has the level of its step; all that are left when a step fails have that step's.
    """
    out, going, step = [level] * len(ps), True, level
    for place, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        if going:
            step = 1 - (1 - level) / (len(ps) - place)
            going = ps[i] <= 1 - step
        out[i] = step
    return out
