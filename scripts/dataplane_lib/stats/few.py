# SPDX-License-Identifier: GPL-2.0-only
"""What may be said of two arms with so few runs that chance tells them apart.

Two equal arms of N runs each lie outside each other's range in 2 of (2N over N) cases: in 2 of 70
with four runs, but in 2 of 20 with three, and in 2 of 6 with two.
"""

from math import comb

FEWEST = 4
# With fewer runs a difference must also be larger than this (%), which the neighbours on a machine hardly ever make of nothing.
OBVIOUS = 50.0


def runs(number):
    """True where NUMBER runs an arm are too few for their ranges to tell anything by themselves."""
    return number < FEWEST


def obvious(change):
    """True for a change in % that is told of few runs as well, if they lie outside each other's range."""
    return abs(change) > OBVIOUS


def untold(number):
    """'cannot be told from 2 runs'."""
    return f"cannot be told from {number} {'run' if number == 1 else 'runs'}"


def by_chance(number):
    """How often equal arms of NUMBER runs lie outside each other's range, in words."""
    return f"in 2 of {comb(2 * number, number)} cases"
