# SPDX-License-Identifier: GPL-2.0-only
"""Percentiles of fio's latency histograms, interpolated within a bin.

A json+ key is the middle of a bin of fio's (stat.c, plat_idx_to_val()): below 128 ns a bin is one value; from there
on a power of two is cut into 64 bins, so that a bin is up to 1.6 % wide. Taking the bin's middle for the percentile would hide
every smaller change and turn others into a step of a whole bin; the I/Os of a bin are taken to lie evenly in it instead
(the grouped-data quantile, as statistics.median_grouped() has it for the median).
"""

import numpy as np

# Bins of a single value end here, and so many share each power of two above.
_SINGLE, _SHARE_BITS = 128, 6
# A share such as 99.9 % of 1000 comes out a hair above 999.
_HAIR = 1e-12


def edges(keys):
    """(lower edges, widths) in ns of the bins that hold KEYS; a width of 0 is a single value."""
    keys = np.asarray(keys, dtype=np.int64)
    exponent = np.frexp(np.maximum(keys, 1).astype(float))[1] - 1 - _SHARE_BITS
    width = np.where(keys < _SINGLE, 0, np.left_shift(np.int64(1), np.maximum(exponent, 0)))
    return np.where(width > 0, keys - keys % np.maximum(width, 1), keys), width


class Bins:
    """Histograms over one axis of bins: COUNTS has a row for each of HISTOGRAMS, {ns: I/Os}."""

    def __init__(self, histograms):
        keys = np.array(sorted(set().union(*histograms)), dtype=np.int64)
        lower, width = edges(keys)
        self.lower, place = np.unique(lower, return_inverse=True)
        self.width = np.zeros(len(self.lower), np.int64)
        self.width[place] = width
        where = dict(zip(keys.tolist(), place.tolist()))
        self.counts = np.zeros((len(histograms), len(self.lower)))
        for row, histogram in zip(self.counts, histograms):
            for key, count in histogram.items():
                row[where[int(key)]] += count

    def percentiles(self, weights, ps):
        """{p: ns, one for each row of WEIGHTS}, which say how often each histogram counts.

        The bin is the first that P % of the I/Os do not exceed, as fio has it; the value lies within it. A sum
        without an I/O has no percentile: NaN.
        """
        here = np.asarray(weights, float) @ self.counts
        seen = np.cumsum(here, axis=1)
        total, rows = seen[:, -1:], np.arange(len(here))
        out = {}
        for p in ps:
            wanted = p / 100 * total
            bin_ = np.minimum((seen < wanted * (1 - _HAIR)).sum(axis=1), seen.shape[1] - 1)
            inside = here[rows, bin_]
            share = (wanted[:, 0] - (seen[rows, bin_] - inside)) / np.maximum(inside, 1)
            value = self.lower[bin_] + self.width[bin_] * np.clip(share, 0, 1)
            out[p] = np.where(total[:, 0] > 0, value, np.nan)
        return out

    def merged(self, ps):
        """{p: ns} of all histograms together."""
        return {p: float(v[0]) for p, v in self.percentiles(np.ones((1, len(self.counts))), ps).items()}

    def single(self, ps):
        """{p: ns of each histogram by itself}."""
        return self.percentiles(np.eye(len(self.counts)), ps)


def percentiles(histogram, ps):
    """{p: ns} of HISTOGRAM, {ns: I/Os}; ValueError where there is no I/O in it."""
    if not any(histogram.values()):
        raise ValueError("no latency samples")
    return Bins([histogram]).merged(ps)


def percentile(histogram, p):
    """The latency in ns that P % of the I/Os of HISTOGRAM do not exceed; ValueError where there is none."""
    return percentiles(histogram, (p,))[p]
