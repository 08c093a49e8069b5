#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The fit of a target's costs finds those of a made-up peer, through noise and disturbed runs."""

import random
import unittest

import fakes  # noqa: F401 (puts scripts/ on the path)
from dataplane_lib.stats import fit

# Time per I/O in ns without a cost, sleeps per I/O, and how much of what is burnt shows.
GRID = [(30000, 2.0, 1.0), (9000, 0.3, 1.0), (6000, 0.05, 1.0), (40000, 2.0, 0.9), (20000, 0.6, 0.6), (15000, 0.1, 0.4)]


def search(request, wakeup, steps=3, noise=0.0, disturbed=0.0, wander=0.0, seed=1, cpu=False):
    """The costs found for a peer that is the target with REQUEST and WAKEUP, and the median error left.

    With CPU the fit learns what CPU an I/O took, within 5 %. NOISE is that of a run, WANDER what is in both runs of a pair, DISTURBED the share of runs thrown down.
    """
    rng = random.Random(seed)

    def rate(point, costs, host=0.0):
        time = point[0] + point[2] * (costs[0] + point[1] * costs[1])
        if host:
            time *= host * (1 + rng.gauss(0, noise)) * (20 if rng.random() < disturbed else 1)
        return 1e9 / time
    points, costs = [fit.Point() for _ in GRID], (0, 0)
    for _ in range(steps + 1):
        for seen, point in zip(points, GRID):
            host = 1 + wander * rng.random()
            used = [(5000 + c[0] + point[1] * c[1]) * rng.gauss(1, 0.05) for c in ((request, wakeup), costs)] if cpu else None
            seen.learn(rate(point, (request, wakeup), host), rate(point, costs, host), point[1], costs, used)
        costs = fit.costs(points)
    return costs, fit.error([rate(p, costs) / rate(p, (request, wakeup)) for p in GRID])


class Fit(unittest.TestCase):
    def test_costs_are_found(self):
        for request, wakeup in ((3000, 1500), (500, 0), (0, 4000), (8000, 200)):
            (r, w), left = search(request, wakeup)
            self.assertAlmostEqual(r, request, delta=0.06 * (request + wakeup))
            self.assertAlmostEqual(w, wakeup, delta=0.06 * (request + wakeup))
            self.assertLess(left, 0.01)

    def check_left(self, limit, **noise):
        left = sorted(search(3000, 1500, seed=s, **noise)[1] for s in range(20))
        self.assertLess(left[16], limit, left)

    def test_noise(self):
        self.check_left(0.05, noise=0.03)

    def test_host_that_wanders(self):
        self.check_left(0.05, noise=0.03, wander=0.5)

    def test_disturbed_runs(self):
        self.check_left(0.10, noise=0.03, disturbed=0.05)

    def test_busy_host(self):
        """Where IOPS tell hardly anything, CPU time leads."""
        self.check_left(0.12, noise=0.25, disturbed=0.1, wander=2.0, cpu=True)

    def test_cpu_that_misleads(self):
        """On a quiet host the IOPS decide, whatever the CPU says."""
        points, costs = [fit.Point() for _ in GRID], (0, 0)
        for _ in range(4):
            for seen, (time, sleeps, _) in zip(points, GRID):
                seen.learn(1e9 / (time + 3000 + 1500 * sleeps), 1e9 / (time + costs[0] + costs[1] * sleeps), sleeps, costs,
                           (9000, 9000 + costs[0] + costs[1] * sleeps))
            costs = fit.costs(points)
        self.assertAlmostEqual(costs[0], 3000, delta=300)

    def test_nothing_to_add(self):
        self.assertEqual(search(0, 0)[0], (0, 0))
        point = fit.Point()
        point.learn(2000, 1000, 1.0, (0, 0))
        self.assertEqual(fit.costs([point]), (0, 0))

    def test_how_sure(self):
        """The interval of each cost holds the true one, and a noisy grid has a wider one."""
        def widths(noise):
            out = []
            for seed in range(4):
                found = fit.intervals(self.points(3000, 1500, noise, seed), draws=40)
                out.append(found[0][1] - found[0][0])
                held.append(all(low <= true <= high for (low, high), true in zip(found, (3000, 1500))))
            return sum(out)
        held = []
        self.assertLess(widths(0.01), widths(0.2))
        # The seeds are fixed; at 95 % one of eight may miss.
        self.assertGreaterEqual(sum(held), 7, held)
        points = self.points(3000, 1500, 0.1, 1)
        self.assertEqual(fit.intervals(points, 20, seed=5), fit.intervals(points, 20, seed=5))

    @staticmethod
    def points(request, wakeup, noise, seed):
        """What a search of three steps has learnt of a peer with these costs."""
        rng, points, costs = random.Random(seed), [fit.Point() for _ in GRID], (0, 0)
        for _ in range(4):
            for seen, point in zip(points, GRID):
                rates = [1e9 / ((point[0] + point[2] * (c[0] + point[1] * c[1])) * (1 + rng.gauss(0, noise))) for c in ((request, wakeup), costs)]
                seen.learn(*rates, point[1], costs)
            costs = fit.costs(points)
        return points

    def test_error(self):
        self.assertAlmostEqual(fit.error([1.1, 0.95, 2.0]), 0.1)


if __name__ == "__main__":
    unittest.main()
