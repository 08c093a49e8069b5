# SPDX-License-Identifier: GPL-2.0-only
"""Two costs of the target, chosen so that its IOPS follow a peer's over a grid of points.

The model of a point: time per I/O grows by a share of the CPU time that is burnt for an I/O, which is
the request's cost and, as often as the iothread sleeps per I/O, the wake-up's. The share is 1 where the iothread is
what everybody waits for, less where its work overlaps with that of others; it is learnt from the runs made so far.

How much is to be burnt is told twice: by the time per I/O, which is what is wanted but wanders with the host, and by the CPU time per I/O
of both sides, which says less and says it steadily. The steadier the first is from round to round, the more it counts.
"""

import numpy as np

# What a cost can be thought to show: where it shows less, the next run would be sent off the map.
_SHARE = (0.2, 1.2)
# How far off (as a share of the time per I/O) a difference in CPU time may be as the difference in time, what one round of
# IOPS by itself may be, and the least that several rounds are taken for.
_CPU_OFF, _ONE_OFF, _LEAST_OFF = 0.15, 0.3, 0.03
_STEPS, _ZOOMS = 61, 5


class Point:
    """A point of the grid: what was seen there of the peer and, with some costs, of the target.

    Medians throughout, as some runs are disturbed; and the target's time is taken as what it is against
    that of the peer in the same round, as what disturbs lasts.
    """

    def __init__(self):
        self._peer, self._ratio, self._burnt, self._sleeps, self._more_cpu = [], [], [], [], []

    def learn(self, peer, target, sleeps, costs, cpu=None):
        """Both sides' IOPS in one round; SLEEPS per I/O of a target with COSTS, (request, wake-up) in ns.

        CPU is the time per I/O in ns of (peer, target), where that was measured.
        """
        self._peer.append(1e9 / peer)
        self._ratio.append(peer / target)
        self._burnt.append(costs[0] + sleeps * costs[1])
        self._sleeps.append(sleeps)
        if cpu:
            self._more_cpu.append(cpu[0] - cpu[1] + self._burnt[-1])

    def drawn(self, random):
        """A Point that has as many rounds, each drawn from those seen here by RANDOM, a numpy Generator."""
        out, chosen = Point(), random.integers(0, len(self._peer), len(self._peer))
        for name in ("_peer", "_ratio", "_burnt", "_sleeps", "_more_cpu"):
            seen = getattr(self, name)
            setattr(out, name, [seen[i] for i in chosen if i < len(seen)])
        # A target sleeps as it did in the last run, whichever were drawn.
        out._sleeps.append(self._sleeps[-1])
        return out

    @property
    def wanted(self):
        """The peer's time per I/O in ns."""
        return float(np.median(self._peer))

    @property
    def _time(self):
        return np.array(self._ratio) * self.wanted

    @property
    def share(self):
        """How much of the CPU time burnt for an I/O shows in the time it takes; 1 until runs say otherwise."""
        burnt, time = np.array(self._burnt), self._time
        i, j = np.triu_indices(len(burnt), 1)
        apart = np.abs(burnt[j] - burnt[i]) > 0.1 * burnt.max()
        slopes = ((time[j] - time[i])[apart] / (burnt[j] - burnt[i])[apart]) if burnt.any() else []
        return float(np.clip(np.median([1.0, *slopes]), *_SHARE))

    @property
    def bare(self):
        """The target's time per I/O in ns if nothing were burnt."""
        seen = self._time - self.share * np.array(self._burnt)
        by_time = float(np.median(seen))
        if not self._more_cpu:
            return by_time
        by_cpu = self.wanted - self.share * float(np.median(self._more_cpu))
        off = _ONE_OFF if len(seen) == 1 else max(float(np.std(seen, ddof=1)) / self.wanted, _LEAST_OFF) / np.sqrt(len(seen))
        return (by_time / off ** 2 + by_cpu / _CPU_OFF ** 2) / (1 / off ** 2 + 1 / _CPU_OFF ** 2)

    def expected(self, request, wakeup):
        """Time per I/O in ns with these costs (arrays); a busier target sleeps less, so the last run's sleeps count."""
        return np.maximum(self.bare + self.share * (request + self._sleeps[-1] * wakeup), 1.0)


def error(ratios):
    """Median of how far RATIOS are from 1, as a share."""
    return float(np.median(np.abs(np.asarray(ratios) - 1)))


def costs(points):
    """(request cost, wake-up cost) in whole ns that bring the expected times of POINTS nearest to the wanted ones.

    What is made small is the mean size of the logarithms of their ratios: half and double are as bad. The median, which
    is what is reported, does not care for half of the points at all, and would leave them anywhere.
    """
    wanted = np.array([p.wanted for p in points])
    most = max(max((p.wanted - p.bare) / p.share for p in points), 0.0)
    low, high = np.zeros(2), np.array([most, 2 * most])
    best = low
    for _ in range(_ZOOMS):
        axes = [np.linspace(low[i], high[i], _STEPS) for i in (0, 1)]
        request, wakeup = np.meshgrid(*axes, indexing="ij")
        far = np.mean([np.abs(np.log(p.expected(request, wakeup) / w)) for p, w in zip(points, wanted)], axis=0)
        i, j = np.unravel_index(np.argmin(far), far.shape)
        best = np.array([axes[0][i], axes[1][j]])
        reach = (high - low) * 2 / _STEPS
        low, high = np.maximum(best - reach, 0), best + reach
    return tuple(int(round(c)) for c in best)


def intervals(points, draws=100, seed=1, level=0.95):
    """((low, high) of the request cost, (low, high) of the wake-up cost) in ns: how far costs() might be off, by LEVEL.

    The bootstrap (Efron 1979): costs() of POINTS drawn from POINTS with replacement, each with rounds drawn from its own,
    DRAWS times. What single rounds and what single points decide are both in it.
    """
    random = np.random.default_rng(seed)
    found = np.array([costs([points[i].drawn(random) for i in random.integers(0, len(points), len(points))]) for _ in range(draws)])
    tail = 100 * (1 - level) / 2
    return tuple(tuple(int(round(v)) for v in np.percentile(found[:, k], (tail, 100 - tail))) for k in (0, 1))
