# SPDX-License-Identifier: GPL-2.0-only
"""Is the workload the same on both sides: what each saw of it, in the time that both have seen."""

import numpy as np

from .. import units
from . import records as tf

# What is compared.
KEYS = ("requests", "reads", "size", "iops", "lifetime", "depth", "deepest", "busy")
LABELS = {"requests": "requests", "reads": "reads, %", "size": "average size, bytes", "iops": "IOPS", "lifetime": "average lifetime, µs",
          "depth": "average queue depth", "deepest": "greatest queue depth", "busy": "utilisation, %"}


def count(number):
    """How many, as tables show it: short, but few are a whole number."""
    return units.short(number) if number >= 1000 else f"{number:.0f}"


def text(key, value):
    """A figure as tables show it."""
    if value is None or key == "iops":
        return units.short(value)
    return count(value) if key == "requests" else f"{value:.0f}" if key in ("size", "deepest") else f"{value:.2f}"


def spans(engine, target):
    """{side: (requests, begin, end)}: from shown to seen by the engine, from taken to shown by the target."""
    out = {}
    if len(engine):
        out["engine"] = (engine, _either(engine, tf.SUBMIT, tf.QUEUE), engine.times[:, tf.SEEN])
    if len(target):
        out["target"] = (target, target.times[:, tf.POP], _either(target, tf.PUBLISH, tf.DONE))
    return out


def _either(found, first, second):
    return np.where(found.times[:, first] > 0, found.times[:, first], found.times[:, second])


def compare(engine, target):
    """{side: figures} over the time in which all sides have requests; {} where there is none."""
    sides = spans(engine, target)
    if not sides:
        return {}
    start = max(max(begin.min(), found.since) for found, begin, _ in sides.values())
    end = min(ends.max() for _, _, ends in sides.values())
    if end <= start:
        return {}
    # A request is longer in the engine: those under way at the ends of the target's time belong to it, if there are no others.
    _, begin, ends = next(iter(sides.values()))
    if (ends[begin < start] > start).all():
        start = min(start, begin.min())
    if (begin[ends > end] < end).all():
        end = max(end, ends.max())
    return {side: _figures(found, begin, ends, int(start), int(end)) for side, (found, begin, ends) in sides.items()}


def _figures(found, begin, ends, start, end):
    here = (begin >= start) & (begin < end)
    # In the order of a queue's life; what was in flight before or is after counts for the time it was.
    depth, deepest, busy = _in_flight(np.clip(begin, start, end), np.clip(ends, start, end), end - start)
    known = here & (found.kind >= 0)
    moved = known & (found.kind <= 1)
    seconds = (end - start) / 1e9
    return {"requests": int(here.sum()),
            "reads": 100 * float(np.mean(found.kind[known] == 0)) if known.any() else None,
            "size": float(found.bytes[moved].mean()) if moved.any() else None,
            "iops": float(here.sum()) / seconds,
            "lifetime": float(np.mean((ends - begin)[here])) / 1000 if here.any() else None,
            "depth": depth, "deepest": deepest, "busy": 100 * busy, "seconds": seconds}


def _in_flight(begin, ends, length):
    """(average, greatest) number in flight, and the share of the time in which there was any."""
    times = np.concatenate([begin, ends])
    step = np.concatenate([np.ones(len(begin), np.int64), -np.ones(len(ends), np.int64)])
    order = np.lexsort((step, times))
    times, level = times[order], np.cumsum(step[order])
    width = np.diff(times)
    return (float(np.sum(level[:-1] * width)) / length, int(level.max(initial=0)),
            float(np.sum(width[level[:-1] > 0])) / length)
