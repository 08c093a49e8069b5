# SPDX-License-Identifier: GPL-2.0-only
"""Steps in a series of figures, night after night: where the level changed for good.

A step is sought where the means before and after are furthest apart for their spread; whether it is one is judged against what the same figures give in random order
(a permutation test of the largest such statistic, so that having looked everywhere is paid for), at 1 %. Then each side is looked at by itself, as Matteson and James 2014 ("A nonparametric
approach for multiple change point analysis", J. Am. Stat. Assoc. 109:334) do with another statistic.
"""

import numpy as np
from scipy import stats

LEVEL = 0.01
# Figures that each side of a step has to have: one odd night is none.
FEWEST = 3
_RESAMPLES = 999
_SEED = 20261201


def _statistic(x, axis=-1):
    """The largest of |mean after - mean before| for its spread, over all places, along the last axis."""
    x = np.moveaxis(np.asarray(x, float), axis, -1)
    n = x.shape[-1]
    places = np.arange(FEWEST, n - FEWEST + 1)
    sums = np.cumsum(x, axis=-1)
    before, total = sums[..., places - 1], sums[..., -1:]
    gap = np.abs((total - before) / (n - places) - before / places) * np.sqrt(places * (n - places) / n)
    return gap.max(axis=-1)


def _place(x):
    n = len(x)
    return max(range(FEWEST, n - FEWEST + 1), key=lambda k: abs(np.mean(x[k:]) - np.mean(x[:k])) * np.sqrt(k * (n - k) / n))


def find(values):
    """[(index of the first figure after the step, p)] of VALUES, all above 0 or not, in their order."""
    x = np.asarray(values, float)
    x = np.log(x) if len(x) and (x > 0).all() else x
    return sorted(_find(x, 0))


def _find(x, first):
    if len(x) < 2 * FEWEST or np.ptp(x) == 0:
        return []
    found = stats.permutation_test((x,), _statistic, permutation_type="pairings", vectorized=True, n_resamples=_RESAMPLES, alternative="greater",
                                   random_state=np.random.default_rng(_SEED))
    if found.pvalue > LEVEL:
        return []
    k = _place(x)
    return [*_find(x[:k], first), (first + k, float(found.pvalue)), *_find(x[k:], first + k)]
