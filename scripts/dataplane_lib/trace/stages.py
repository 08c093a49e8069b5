# SPDX-License-Identifier: GPL-2.0-only
"""Where a request's time goes: from events to stages, which add up to its life."""

import math

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
# Requests by how long they took: those from one percentile of the lifetime to the other.
GROUPS = {"middle": (25, 75), "p99": (99, 100), "p99.9": (99.9, 100)}
GROUP_NAMES = {"middle": "middle half", "p99": "slowest 1 %", "p99.9": "slowest 0.1 %"}
# What one side alone writes down.
_OF_SIDE = {"engine": (tf.QUEUE, tf.SUBMIT, tf.KICK, tf.AWAKE, tf.SEEN, tf.RETURN),
            "target": (tf.POP, tf.START, tf.WORK, tf.WORKED, tf.DONE, tf.PUBLISH)}


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
    """A row for each stage and one for the whole life: dicts of name, requests, ns, share of the total in %, and of that of each group."""
    found, life = stages(times)
    total = float(np.sum(life)) or 1.0
    rows = [_row(NAMES[event], ns, total) for event, ns, _ in found] + [_row(LIFE, life, total)]
    for key, group in made_of(times).items():
        for row in rows:
            row[f"share_{key}"] = 100 * group["stages"].get(row["stage"], group["ns"]) / (group["ns"] or 1.0)
    return rows


def _row(name, ns, total):
    row = {"stage": name, "requests": len(ns), "min": int(ns.min())}
    row.update({key: float(np.percentile(ns, q)) for key, q in _QUANTILES})
    return {**row, "max": int(ns.max()), "mean": float(ns.mean()), "share": 100 * float(ns.sum()) / total}


def made_of(times):
    """{group: what its requests are made of}: how many, the mean of their lives in ns, and by stage the ns of it, which add up to that.

    A request that has not been through a stage has spent nothing in it.
    """
    found, life = stages(times)
    order = np.argsort(life, kind="stable")
    out = {}
    for key, (low, high) in GROUPS.items():
        first = min(int(len(order) * low / 100), len(order) - 1)
        mine = np.zeros(len(order), bool)
        mine[order[first:max(first + 1, math.ceil(len(order) * high / 100))]] = True
        number = int(mine.sum())
        out[key] = {"requests": number, "ns": float(life[mine].mean()),
                    "stages": {NAMES[event]: float(ns[mine[there]].sum()) / number for event, ns, there in found}}
    return out


def views(times, side):
    """{side: made_of() as the trace of that one would have it}; of both sides' each side's too, to compare with a trace of that one alone."""
    out = {side: made_of(times)}
    for one, events in _OF_SIDE.items() if side == "both" else ():
        kept = np.zeros_like(times)
        kept[:, events] = times[:, events]
        there = whole(kept)
        if there.any():
            out[one] = made_of(kept[there])
    return out


def chosen(times, count):
    """Numbers of the COUNT requests whose life is next to the median, and of the COUNT slowest."""
    life = stages(times)[1]
    order = np.argsort(life, kind="stable")
    middle = max(0, len(order) // 2 - count // 2)
    return order[middle:middle + count], order[::-1][:count]
