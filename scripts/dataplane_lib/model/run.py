# SPDX-License-Identifier: GPL-2.0-only
"""Which runs can be compared."""

from ..host import rtt


def left_out(a, b):
    """The numbers, from 1, of the pairs of runs A and B that are not compared: the cores were not equally far apart in both."""
    def far(x, y):
        return x is not None and y is not None and max(x, y) > rtt.CHANGED * min(x, y)
    def moved(run):
        return bool(rtt.marks(run.rtt["before"], run.rtt["after"], None))
    return [i for i, (x, y) in enumerate(zip(a, b), 1) if far(x.distance, y.distance) or moved(x) or moved(y)]
