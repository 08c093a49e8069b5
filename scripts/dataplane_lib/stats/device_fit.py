# SPDX-License-Identifier: GPL-2.0-only
"""A model of a disk from a few points of load: service time by size and direction, how many at once, ceilings.

The model is what a target emulates (targets/backend/device-model.c): a request passes a door that opens so many times a second, one of
so many units for its service time, and a bus of so many bytes a second. Service times are what depth 1 shows; ceilings are what makes
a simulation of that model, with as many requests in flight as a point has, come nearest to what was measured at all points.
"""

import heapq
import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from . import latency

# Quantiles that a service time is kept as, and simulated requests of a point.
_QUANTILES, _REQUESTS = 501, 3000
# A family of distributions is taken where no quantile of it is further off, as a share.
_FITS = 0.03
# What one ceiling more must gain in the mean error to be believed.
_WORTH = 0.01
_ROUNDS = (0.94, 0.97, 1.0, 1.03, 1.06)


@dataclass
class Point:
    """What was measured with DEPTH requests of SIZE bytes in flight: IOPS, and the latencies' HISTOGRAM, {ns: I/Os}."""
    size: int
    depth: int
    write: bool
    iops: float
    histogram: dict

    def percentile(self, p):
        return latency.percentile(self.histogram, p)


@dataclass
class Service:
    """Service times in ns: QUANTILES of a request without its data, evenly from the least to the most, and what a byte adds."""
    quantiles: np.ndarray
    per_byte: float = 0.0

    def draw(self, rng, size, count):
        """COUNT service times of requests of SIZE bytes."""
        places = np.linspace(0, 1, len(self.quantiles))
        return np.interp(rng.random(count), places, self.quantiles) + size * self.per_byte

    def beside(self, moved, least):
        """This Service where a bus adds MOVED ns a byte to what it takes; LEAST is the size at which it was seen."""
        per_byte = max(0.0, self.per_byte - moved)
        return Service(np.maximum(self.quantiles - least * (per_byte + moved - self.per_byte), 1.0), per_byte)


@dataclass
class Model:
    """READS and WRITES are Services, WRITES None where none were measured; the ceilings are 0 where there is none."""
    reads: Service
    writes: Service | None = None
    parallel: int = 0
    iops: float = 0.0
    bandwidth: float = 0.0
    errors: list = field(default_factory=list)


def simulate(model, point, count=_REQUESTS, seed=1):
    """(IOPS, latencies in ns) of MODEL under the load of POINT."""
    service = model.writes if point.write and model.writes else model.reads
    count = max(count, 30 * point.depth)
    times = service.draw(np.random.default_rng(seed), point.size, count).tolist()
    ready, units = [0.0] * point.depth, [0.0] * model.parallel
    door = bus = 0.0
    gap = 1e9 / model.iops if model.iops else 0.0
    moved = 1e9 * point.size / model.bandwidth if model.bandwidth else 0.0
    taken, ends = [], []
    for needed in times:
        start = at = heapq.heappop(ready)
        if gap:
            at = max(at, door)
            door = at + gap
        at = max(at, heapq.heappop(units)) + needed if units else at + needed
        if model.parallel:
            heapq.heappush(units, at)
        if moved:
            at = max(at, bus) + moved
            bus = at
        heapq.heappush(ready, at)
        taken.append(at - start)
        ends.append(at)
    first = min(4 * point.depth, count // 3)
    ends = sorted(ends)
    return (count - first - 1) * 1e9 / (ends[-1] - ends[first]), np.array(taken[first:])


def errors(model, points):
    """[(IOPS / those measured, p99 / that measured)] of MODEL, a pair a point."""
    out = []
    for point in points:
        iops, taken = simulate(model, point)
        out.append((iops / point.iops, float(np.percentile(taken, 99)) / point.percentile(99)))
    return out


def _score(model, points):
    found = np.abs(np.log(np.array(errors(model, points))))
    return float(np.mean(found[:, 0]) + 0.5 * np.mean(found[:, 1]))


def _service(points):
    """The Service that the points of depth 1 show; None without one."""
    alone = sorted((p for p in points if p.depth == 1), key=lambda p: p.size)
    if not alone:
        return None
    least = alone[0]
    slopes = [(p.percentile(50) - least.percentile(50)) / (p.size - least.size) for p in alone[1:] if p.size > least.size]
    per_byte = max(0.0, float(np.median(slopes))) if slopes else 0.0
    ps = np.linspace(0, 100, _QUANTILES)
    # The slowest of all is one I/O, which the next run does not have.
    found = latency.percentiles(least.histogram, [float(p) for p in np.clip(ps, 0.05, 99.95)])
    return Service(np.maximum(np.array(list(_spread(found, ps))) - least.size * per_byte, 1.0), per_byte)


def _spread(found, ps):
    for p in np.clip(ps, 0.05, 99.95):
        yield found[float(p)]


def fit(points):
    """The Model of POINTS, with its errors."""
    model = Model(_service([p for p in points if not p.write]), _service([p for p in points if p.write]))
    fastest = max((p for p in points if not p.write), key=lambda p: p.iops)
    widest = max(points, key=lambda p: p.iops * p.size)
    at_once = fastest.iops * (float(np.mean(model.reads.quantiles)) + fastest.size * model.reads.per_byte) / 1e9
    parallel = sorted({0, *(max(1, int(at_once) + n) for n in (-1, 0, 1, 2))})
    best, least = model, _score(model, points)
    for units, iops, bandwidth in itertools.product(parallel, (0.0, fastest.iops), (0.0, widest.iops * widest.size)):
        tried = _with_bus(replace(model, parallel=units, iops=iops), bandwidth, points)
        score = _score(tried, points) + _WORTH * sum(map(bool, (units, iops, bandwidth)))
        if score < least:
            best, least = tried, score
    if best.iops:
        best = min((replace(best, iops=best.iops * by) for by in _ROUNDS), key=lambda m: _score(m, points))
    if best.bandwidth:
        best = min((_with_bus(replace(model, parallel=best.parallel, iops=best.iops), best.bandwidth * by, points) for by in _ROUNDS), key=lambda m: _score(m, points))
    best.errors = errors(best, points)
    return best


def _with_bus(model, bandwidth, points):
    """MODEL, which has none, with a bus of BANDWIDTH."""
    if not bandwidth:
        return model
    least = min(p.size for p in points if p.depth == 1)
    slower = {name: service and service.beside(1e9 / bandwidth, least) for name, service in (("reads", model.reads), ("writes", model.writes))}
    return replace(model, bandwidth=bandwidth, **slower)


def family(quantiles):
    """(name, parameters) of the distribution that QUANTILES, in ns, are of: fixed, uniform, exp, lognormal; None where it is none of these."""
    inner = np.linspace(0.05, 0.99, 48)
    seen = np.interp(inner, np.linspace(0, 1, len(quantiles)), quantiles)
    middle = float(np.interp(0.5, inner, seen))
    low, high = (float(np.interp(q, np.linspace(0, 1, len(quantiles)), quantiles)) for q in (0.1587, 0.8413))
    sigma = float(np.log(high / low) / 2)
    slope = (seen[-1] - seen[0]) / (inner[-1] - inner[0])
    bottom = max(seen[0] - slope * inner[0], 0.0)
    tried = (("fixed", (middle,), np.full_like(inner, middle)),
             ("uniform", (bottom, bottom + slope), bottom + slope * inner),
             ("exp", (middle / np.log(2),), -middle / np.log(2) * np.log1p(-inner)),
             ("lognormal", (middle, sigma), middle * np.exp(sigma * _normal(inner))))
    return next(((name, found) for name, found, expected in tried if np.max(np.abs(expected / seen - 1)) < _FITS), None)


def _normal(q):
    from scipy.special import ndtri
    return ndtri(q)
