# SPDX-License-Identifier: GPL-2.0-only
"""The phrases of conclusions, and the one way in which changes and intervals are written."""

import math

from .. import units

# Words for a line without a difference: none was found; so few runs could find none.
NONE, OPEN = "~", "?"
NO_DIFFERENCE = "no significant difference"


def _digits(estimate, low, high):
    """Decimals of a change in % that an interval is worth."""
    size = abs(units.tidy(estimate))
    if size >= 1000:
        return 0
    # An end that is not 0 must not read like it.
    near = min(abs(low), abs(high)) < 0.05 and low * high > 0
    return 2 if near or (size < 10 and units.tidy(high - low) <= 0.3) else 1


def signed(value, unit=""):
    """'+38.1k us'."""
    return f"{'-' if value < 0 else '+'}{units.short(abs(units.tidy(value)))} {unit}".rstrip()


def _ends(found, unit):
    if found.kind == "ratio":
        digits = _digits(found.estimate, found.low, found.high)
        return [units.percent(v, digits) if abs(v) < 1e6 else "unlimited" for v in (found.estimate, found.low, found.high)]
    return [signed(v, unit) if math.isfinite(v) else "unlimited" for v in (found.estimate, found.low, found.high)]


def interval(found, unit=""):
    """'-0.9 % to +0.6 %': the interval of FOUND, anything with kind, estimate, low and high."""
    _, low, high = _ends(found, unit)
    return f"{low} to {high}"


def change(found, unit=""):
    """'+3.1 %', with as many digits as its interval is worth."""
    return _ends(found, unit)[0]


def brief(found):
    """'+3.1 [+2.2, +4.0]': a change in % and its interval, for a table whose head says %."""
    return "{} [{}, {}]".format(*(text.removesuffix(" %") for text in _ends(found, "")))


def confidence(found, level=0.95, unit=""):
    """'95 % CI -0.9 % to +0.6 %'."""
    return f"{100 * level:.4g} % CI {interval(found, unit)}"


def probability(p):
    """A p as people write it."""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def no_difference(found, level=0.95, unit=""):
    """'No significant difference (95 % CI -0.9 % to +0.6 %)'."""
    return f"{NO_DIFFERENCE.capitalize()} ({confidence(found, level, unit)})"


def inconclusive(found, number, unit=""):
    """'inconclusive with 2 runs (-4.5 % to +12.4 %)'."""
    return f"inconclusive with {units.counted(number, 'run')}" + (f" ({interval(found, unit)})" if number > 1 else "")


def arm(found, level=0.95, unit="", better=None):
    """What an arm's change from its baseline comes to: FOUND has direction, n, kind, estimate, low and high."""
    if found.direction:
        word = "" if not better else "better, " if found.direction * better > 0 else "worse, "
        return f"{word}{change(found, unit)} ({confidence(found, level, unit)})"
    if found.n < 3:
        return inconclusive(found, found.n, unit)
    text = no_difference(found, level, unit)
    return text[0].lower() + text[1:]


def price(cpu, base_cpu, each=None, base_each=None):
    """' at 69 % CPU (was 42 %), 12 % less CPU per I/O': what a gain costs in the target's CPU; empty where that is unknown."""
    if cpu is None or not base_cpu:
        return ""
    text = f" at {cpu:.0f} % CPU (was {base_cpu:.0f} %)"
    if each is None or not base_each:
        return text
    more = 100 * (each / base_each - 1)
    return text + (", the same CPU per I/O" if abs(more) < 1 else f", {abs(more):.0f} % {'less' if more < 0 else 'more'} CPU per I/O")
