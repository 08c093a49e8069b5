# SPDX-License-Identifier: GPL-2.0-only
"""Where a request's time goes: from events to stages, which add up to its life."""

import numpy as np

from . import records as tf
from .requests import OPTIONAL

# What a stage ends with; it begins with the event before.
NAMES = {tf.SUBMIT: "submitted", tf.KICK: "kicked", tf.WOKEN: "target woken", tf.POP: "taken by the target",
         tf.START: "given to the backend", tf.WORK: "worker begins", tf.WORKED: "worker done", tf.DONE: "completed",
         tf.PUBLISH: "published", tf.CALL: "called", tf.AWAKE: "engine woken", tf.SEEN: "seen by the engine",
         tf.RETURN: "returned to fio"}
EVENT_NAMES = {tf.QUEUE: "queued", **NAMES}
LIFE = "all"
_QUANTILES = (("median", 50), ("p99", 99), ("p99.9", 99.9))


def causal(times):
    """TIMES (see Requests) without what came too late to matter, and how many events contradict their order.

    A notification that was written after the other side had looked by itself has brought nothing about. Other
    events out of order would be a broken clock.
    """
    times = times.copy()
    last = np.full(len(times), np.iinfo(np.int64).max)
    for event in reversed(range(tf.EVENTS)):
        there = times[:, event] > 0
        if event in OPTIONAL:
            times[there & (times[:, event] > last), event] = 0
        else:
            last = np.where(there, np.minimum(last, times[:, event]), last)
    wrong = 0
    reached = np.zeros(len(times), np.int64)
    for event in range(tf.EVENTS):
        there = times[:, event] > 0
        early = there & (times[:, event] < reached)
        if event not in OPTIONAL:
            wrong += int(np.sum(early))
        times[early, event] = 0
        reached = np.maximum(reached, times[:, event])
    return times, wrong


def whole(times):
    """Which requests are told from the first event that any has to the last one."""
    return (times[:, _first(times)] > 0) & (times[:, _last(times)] > 0)


def _first(times):
    return tf.QUEUE if np.any(times[:, tf.QUEUE]) else tf.POP


def _last(times):
    return tf.RETURN if np.any(times[:, tf.QUEUE]) else tf.PUBLISH


def stages(times):
    """[(event, ns of each request that has it, which those are)] and ns of each whole life; TIMES are causal()."""
    begin, end = _first(times), _last(times)
    reached, out = times[:, begin].copy(), []
    for event in range(begin + 1, tf.EVENTS):
        if event > end and begin == tf.POP:
            break
        there = np.flatnonzero(times[:, event])
        if len(there):
            out.append((event, times[there, event] - reached[there], there))
            reached[there] = times[there, event]
    return out, times[:, end] - times[:, begin]


def table(times):
    """A row for each stage and one for the whole life: dicts of name, requests, ns, and share of the total in %."""
    found, life = stages(times)
    total = float(np.sum(life)) or 1.0
    return [_row(NAMES[event], ns, total) for event, ns, _ in found] + [_row(LIFE, life, total)]


def _row(name, ns, total):
    row = {"stage": name, "requests": len(ns), "min": int(ns.min())}
    row.update({key: float(np.percentile(ns, q)) for key, q in _QUANTILES})
    return {**row, "max": int(ns.max()), "mean": float(ns.mean()), "share": 100 * float(ns.sum()) / total}


def chosen(times, count):
    """Numbers of the COUNT requests whose life is next to the median, and of the COUNT slowest."""
    life = stages(times)[1]
    order = np.argsort(life, kind="stable")
    middle = max(0, len(order) // 2 - count // 2)
    return order[middle:middle + count], order[::-1][:count]
