# SPDX-License-Identifier: GPL-2.0-only
"""Limits that a figure may not pass, as --fail-if has them: on its change from another arm, or on the figure itself.

A limit is passed where the whole interval is beyond it, and kept where the whole interval is on the good side of it, or beyond it by no more than
the dead band. Without the band a true change right at the limit would never be decided, however many runs there are: half of all intervals around it
would have to be on one side.
Several limits are judged together: each at a level that leaves all of them the error of one (Bonferroni), because any of them that is passed counts.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from . import ranks

PASSED, KEPT, OPEN = 1, 0, None
BAND = 1.0


@dataclass(frozen=True)
class Limit:
    """SIDE +1: the figure may not be more than LIMIT, -1: not less. RELATIVE: it is a change in %, else the metric KEY itself in its unit.

    BAND are points of the change, or % of the limit.
    """
    key: str
    side: int
    limit: float
    relative: bool = True
    band: float = BAND

    def verdict(self, low, high):
        """PASSED, KEPT or OPEN of a figure that is between LOW and HIGH."""
        near, far = (low, high) if self.side > 0 else (-high, -low)
        limit, band = self.side * self.limit, self.band if self.relative else abs(self.limit) * self.band / 100
        return PASSED if near > limit else KEPT if far <= limit + band else OPEN


@dataclass(frozen=True)
class Held:
    """A limit held against runs: the VERDICT, and the interval; LEVEL is what the interval has, below WANTED there were too few runs."""
    verdict: int | None
    estimate: float
    low: float
    high: float
    level: float
    wanted: float
    n: int


def each_level(level, number):
    """What each of NUMBER limits needs, so that together they are wrong no more often than one at LEVEL."""
    return 1 - (1 - level) / max(1, number)


def hold(limit, found, level, n):
    """LIMIT against FOUND, an interval with kind, estimate, low, high; its LEVEL is what it has to have."""
    enough = found.level >= level - 1e-9 and n > 1
    if limit.relative and found.kind != "ratio" and not found.low == found.high == 0:
        enough = False
    return Held(limit.verdict(found.low, found.high) if enough else OPEN, found.estimate, found.low, found.high, found.level, level, n)


def of_pairs(limit, a, b, level):
    """LIMIT against runs A and B made in pairs; one on the figure itself is about B alone."""
    if limit.relative:
        return hold(limit, ranks.paired(a, b, level), level, len(a))
    return itself(limit, b, level)


def itself(limit, values, level):
    """LIMIT, which is on the figure, against runs' VALUES: the signed-rank interval, or Student's where there are too few runs for that."""
    x = np.asarray(values, float)
    kind = "ratio" if (x > 0).all() else "difference"
    x = np.log(x) if kind == "ratio" else x
    middle, low, high, true = ranks.centre(x, level)
    if true < level and len(x) > 1:
        reach = stats.t.ppf((1 + level) / 2, len(x) - 1) * float(x.std(ddof=1)) / math.sqrt(len(x))
        middle, low, high, true = float(x.mean()), float(x.mean()) - reach, float(x.mean()) + reach, level
    back = math.exp if kind == "ratio" else float
    enough = true >= level - 1e-9 and len(x) > 1
    return Held(limit.verdict(back(low), back(high)) if enough else OPEN, back(middle), back(low), back(high), true, level, len(x))


def together(verdicts):
    """What several VERDICTS come to: passed where any limit is, kept where all are."""
    verdicts = list(verdicts)
    return PASSED if PASSED in verdicts else KEPT if all(v == KEPT for v in verdicts) else OPEN
