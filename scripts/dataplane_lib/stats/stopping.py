# SPDX-License-Identifier: GPL-2.0-only
"""When enough pairs of runs have been made: looked at again and again, with an error that all looks share.

Who tests after each pair at 5 % and stops at the first difference finds one in equal arms more often than not (Armitage, McPherson and
Rowe 1969). The looks are therefore few, each at a quarter more pairs than the one before, and each is made at the same stricter
level (Pocock 1977, "Group sequential methods", Biometrika 64:191); `dataplane selftest` counts what all of them together come to.
"""

from dataclasses import dataclass

from . import limits, ranks

# Of each look; with up to a dozen of them, from 8 to 100 pairs, the level of all is 95 %.
LEVEL = 0.99
# The interval's width is no matter of its place, so stopping for it costs less (see ranks.LEVEL_UNTIL).
LEVEL_PRECISION = ranks.LEVEL_UNTIL
FEWEST = 8
# Without a condition, "no difference" is decided when the interval lies within so many per cent of 0.
DEAD_BAND = 1.0
_GROWTH = 1.25


def next_look(pairs):
    """The number of pairs, an even one, at which to look next, after PAIRS."""
    return max(FEWEST, pairs + 2, 2 * round(pairs * _GROWTH / 2))


@dataclass
class Rule:
    """What ends the runs: LIMITS are those of --fail-if, BAND the dead band without any, PRECISION a width in %, or None.

    With none of LIMITS and PRECISION an interval without 0 decides, or one within the band.
    """
    limits: tuple = ()
    band: float = DEAD_BAND
    precision: float | None = None

    @property
    def level(self):
        """The confidence of the interval at each look."""
        return LEVEL if self.precision is None else LEVEL_PRECISION

    def settled(self, pairs):
        """Why PAIRS, {metric: (A's figures, B's)}, end it where there are limits: a few words, empty where they do not."""
        level = limits.each_level(self.level, len(self.limits))
        found = limits.together(limits.of_pairs(one, *pairs[one.key], level).verdict for one in self.limits)
        return {limits.PASSED: "the condition holds", limits.KEPT: "the condition does not hold"}.get(found, "")

    def decided(self, found):
        """Why FOUND, a ranks.Comparison at this level, ends it where there are none: a few words, empty where it does not."""
        if found.kind != "ratio" or not found.enough:
            return ""
        if self.precision is not None:
            return f"the interval is {found.width:.2g} % wide, at most {self.precision:g} %" if found.width <= self.precision else ""
        if found.resolved:
            return "a difference is found"
        return f"the change is within ±{self.band:g} %" if -self.band <= found.low and found.high <= self.band else ""
