# SPDX-License-Identifier: GPL-2.0-only
"""Numbers with units, read and printed."""

import argparse
import re

from .errors import Refused

_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0}
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
           "ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def seconds(text, what):
    """Seconds from 2, 1.5, 500ms or 1m; WHAT names the option in the message."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|us|s|m|)", str(text))
    if not match:
        raise Refused(f"{what}={text}: expected a time such as 2, 1.5 or 500ms")
    return float(match[1]) * _SECONDS[match[2]]


def whole(text):
    """A whole number, for argparse."""
    if not re.fullmatch("-?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def number(text):
    """A factor's value as a number (4096, 4k, 16us in ns), or None for a word."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|[kKmMgGs]|)", str(text))
    if not match:
        return None
    return float(match[1]) * _FACTOR[match[2].lower()]


def size(text, what):
    """Bytes from 4096, 4k, 256m; WHAT names the option in the message."""
    match = re.fullmatch(r"([0-9]+)([kmg]?)", str(text).lower())
    if not match:
        raise Refused(f"{what}={text}: expected a size such as 4096, 64k or 256m")
    return int(match[1]) * _FACTOR[match[2]]


def short(value, digits=3):
    """38123 -> 38.1k; None -> '-'."""
    if value is None:
        return "-"
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return _digits(value / limit, digits) + suffix
    return _digits(value, digits)


def _digits(value, digits):
    """DIGITS significant ones, but never an integer digit lost."""
    whole = len(str(int(abs(value))))
    # 99.97 has one integer digit more once it is rounded.
    whole = len(str(int(abs(round(value, max(0, digits - whole))))))
    return f"{value:.{max(0, digits - whole)}f}"


def tidy(value):
    """VALUE without the last digits, which differ from one CPU to the next, so that no rounding hangs on them."""
    return float(f"{value:.6g}") + 0.0


def percent(value, digits=1):
    """A signed change in %: '+3.1 %'; '-' where there is none; from 1000 % on without tenths."""
    if value is None:
        return "-"
    value = tidy(value)
    text = f"{value:+.{digits if abs(value) < 1000 else 0}f}"
    # What rounds to nothing has no sign.
    return ("0" + text[2:] if not float(text) else text) + " %"


def rounded(value):
    """A change in % for a sentence: '+87 %', '+3.1 %'."""
    return percent(value, 1 if value is None or abs(tidy(value)) < 9.95 else 0)


def listed(names, most=6, between=", "):
    """The first of NAMES, with BETWEEN them, for a message, and how many more there are."""
    names = list(names)
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number, what):
    """'1 run', '3 runs'."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(secs):
    """75 -> 1m15s."""
    secs = int(round(secs))
    if secs >= 3600:
        return f"{secs // 3600}h{secs % 3600 // 60:02d}m"
    return f"{secs // 60}m{secs % 60:02d}s" if secs >= 60 else f"{secs}s"

def quantity(value, unit):
    """VALUE of a metric's UNIT as people write it: '20.6 µs', '1.24 ms', '42 %', '38.1k'; '-' without one."""
    if value is None:
        return "-"
    if unit == "us":
        return time(value * 1e3)
    if unit.startswith("%"):
        return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"
    return short(value)


def in_cell(unit):
    """True for a UNIT that quantity() writes behind the figure, as it depends on its size."""
    return unit == "us" or unit.startswith("%")


def time(ns):
    """20600 ns -> '20.6 µs'; s, ms, µs or ns by size."""
    if ns is None:
        return "-"
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= factor * 0.9995:
            return f"{_digits(ns / factor, 3)} {unit}"
    return f"{_digits(ns, 3)} ns"


def times(value):
    """2.13 -> '2.1 ×'; two significant digits, and no integer digit lost."""
    value = tidy(value)
    return f"{value:.0f} ×" if abs(value) >= 10 else f"{value:.2g} ×"


_LEADING = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]+)?) ?(ns|us|µs|ms|s\b|[kKmMgG]\b|)(?=[% ×!)]|\.\.|$)")


def leading(text):
    """The figure that TEXT begins with, as a number that sorts: 38.1k, +3.1 %, 20.6 µs (in ns), 40+12; None for words."""
    text = text.strip("()!~")
    both = re.fullmatch(r"([0-9]+)\+([0-9]+)", text)
    if both:
        return float(both[1]) + float(both[2])
    match = _LEADING.match(text)
    if not match:
        return None
    found = number(match[2] + match[3].replace("µs", "us"))
    return -found if match[1] == "-" else found
