# SPDX-License-Identifier: GPL-2.0-only
"""Requests for Perfetto's viewer (and chrome://tracing): a track a thread, an arrow from event to event of each request.

The file is JSON in the "Trace Event Format", version of the "JSON Object Format": slices are complete events ("X"), arrows are
flow events ("s", "t", "f") with the request's number, threads and processes are named by metadata events ("M").
"""

import json

import numpy as np

from . import records as tf, stages

# So many requests are written, those around the slowest: a viewer takes no millions.
MOST = 10000
# How wide what takes no time of its thread is drawn, in ns: a viewer shows nothing of no width.
_THIN = 50
# What is done with nothing to do after: the thread sleeps, polls, or takes somebody else's request.
_LAST = (tf.SUBMIT, tf.KICK, tf.WORKED, tf.PUBLISH, tf.CALL, tf.RETURN)
_ENGINE = (tf.QUEUE, tf.SUBMIT, tf.KICK, tf.AWAKE, tf.SEEN, tf.RETURN)


def text(found, shown):
    """(the file's text, how many requests are in it) of the requests SHOWN of the Traces FOUND."""
    times, _ = stages.causal(shown.times)
    rows = np.flatnonzero(stages.whole(times))
    rows = rows[np.argsort(times[rows].max(axis=1), kind="stable")]
    life = stages.stages(times[rows])[1]
    first = max(0, min(int(np.argmax(life)) - MOST // 2, len(rows) - MOST))
    rows = rows[first:first + MOST]
    times, picked = times[rows], shown.pick(rows)
    start = int(times[times > 0].min())
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in _events(found, picked, times, start))
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n', len(rows)


def _events(found, picked, times, start):
    slices = _slices(picked, times)
    yield from _names(found, sorted({who for who, _, _ in slices}))
    # In the order of time, a slice before the arrows that are bound to it.
    for who, when, event in sorted(slices, key=lambda key: (key[1], key[2], key[0])):
        duration, requests = slices[who, when, event]
        pid, tid = found.places[who]
        where = {"pid": pid, "tid": tid, "ts": (when - start) / 1000}
        yield {"ph": "X", "name": stages.EVENT_NAMES[event], "cat": "engine" if event in _ENGINE else "target", "dur": duration / 1000,
               "args": _about(picked, requests), **where}
        for number in requests:
            of = np.flatnonzero(times[number])
            phase = "s" if event == of[0] else "f" if event == of[-1] else "t"
            yield {"ph": phase, "name": "request", "cat": "request", "id": int(number), **({"bp": "e"} if phase == "f" else {}), **where}


def _names(found, threads):
    said = set()
    for who in threads:
        pid, tid = found.places[who]
        process, _, name = found.threads[who].rpartition(" ")
        if pid not in said:
            said.add(pid)
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": tid, "ts": 0, "args": {"name": process}}
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _slices(picked, times):
    """{(thread, time, event): (ns, numbers of its requests)}: one for what concerns a whole batch."""
    by_place = {}
    for number, event in np.argwhere(times > 0):
        by_place.setdefault((int(picked.who[number, event]), int(times[number, event]), int(event)), []).append(int(number))
    out, order = {}, sorted(by_place)
    for place, after in zip(order, [*order[1:], None]):
        gap = after[1] - place[1] if after and after[0] == place[0] else _THIN
        goes_on = after and after[0] == place[0] and place[2] not in _LAST and after[2] not in (tf.WOKEN, tf.AWAKE)
        if place[2] == tf.START:
            # Elsewhere, unless the same thread is done with it next.
            goes_on = goes_on and after[2] == tf.DONE and by_place[after] == by_place[place]
        out[place] = (gap if goes_on else min(gap, _THIN)), by_place[place]
    return out


def _about(picked, numbers):
    """What is said of a slice: the request, or how many."""
    if len(numbers) > 1:
        return {"requests": len(numbers)}
    number = numbers[0]
    kind = int(picked.kind[number])
    out = {"queue": int(picked.queue[number]), "name": int(picked.tag[number])}
    if 0 <= kind < len(tf.KINDS):
        out |= {"kind": tf.KINDS[kind], "offset": int(picked.offset[number]), "bytes": int(picked.bytes[number])}
    return out
