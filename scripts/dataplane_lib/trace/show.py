# SPDX-License-Identifier: GPL-2.0-only
"""Where the time of requests goes, as figures and sentences: what dataplane trace and the lifecycle study show."""

import numpy as np

from . import records as tf, stages, workload
from ..errors import Refused

TIMELINE = ["µs", "", "thread", "event"]
# Of a stage
SHARES = ("share", "share_middle", "share_p99", "share_p99.9")
COLUMNS = ("requests", "min", "median", "p99", "p99.9", "max", *SHARES)
STAGES = ["until", *COLUMNS[:-4], "all", "middle", "1 %", "0.1 %"]
STAGES_TOP = [""] * (len(STAGES) - 4) + ["share of the time, %", "", "", ""]
# What a narrow terminal leaves out, the first one first.
STAGES_OPTIONAL = [STAGES.index(name) for name in ("min", "requests", "p99.9", "max")]
STAGES_NOTE = ("Times in µs; a stage begins with the event before it. Shares of all requests' time, and of that of the middle half by lifetime and of the slowest "
               "1 % and 0.1 %.")


def of_interest(found):
    """The requests to be told, and of which side they are."""
    if found.both is not None and len(found.both):
        return found.both, "both"
    if len(found.engine) and len(found.target):
        raise Refused("no request is in both traces: were they recorded by the same run? Give one side alone to show it")
    if len(found.engine) or len(found.target):
        return (found.engine, "engine") if len(found.engine) else (found.target, "target")
    raise Refused(f"{', '.join(f.path for f in found.files)}: no complete request in the trace")


def digest(found, shown, what):
    """Everything that is told of it, but the timeline."""
    times, wrong = stages.causal(shown.times)
    times = times[stages.whole(times)]
    if not len(times):
        raise Refused("no complete request in the trace")
    return {"side": what, "stages": stages.table(times), "parts": stages.views(times, what), "load": workload.compare(found.engine, found.target),
            "engine": len(found.engine), "target": len(found.target), "both": len(found.both) if found.both is not None else 0,
            "different": found.different, "wrong": wrong, "lost": found.lost}


def stage_row(stage, figures):
    """A row under STAGES: FIGURES of COLUMNS, their times in ns, as us."""
    return [stage, workload.count(figures["requests"]), *(f"{figures[c] / 1000:.2f}" for c in COLUMNS[1:-len(SHARES)]),
            *(f"{figures[c]:.1f}" if c in figures else "-" for c in SHARES)]


def sentences(told):
    """How far all that can be trusted."""
    out = []
    if told["side"] == "both":
        out.append(f"{told['both']} requests are in both traces (engine's: {told['engine']}, target's: {told['target']}).")
    if told["different"]:
        out.append(f"{told['different']} more have the same name at the same time but are different requests: the traces are of different runs.")
    if told["lost"]:
        out.append(f"{told['lost']} oldest events are lost (the file was full); the figures cover the time since.")
    if told["wrong"]:
        out.append(f"{told['wrong']} events are earlier than what they follow: the CPUs' clocks do not agree.")
    return out


def timeline(found, shown, count):
    """[(heading, rows)]: all events of SHOWN's COUNT requests of median lifetime, and of its COUNT slowest; both sides' on one clock."""
    times, _ = stages.causal(shown.times)
    whole = np.flatnonzero(stages.whole(times))
    shown, times = shown.pick(whole), times[whole]
    middle, slowest = stages.chosen(times, count)
    return [_events(found, shown, times, int(number), title)
            for title, numbers in (("of median lifetime", middle), ("the slowest", slowest)) for number in numbers]


def _events(found, shown, times, number, title):
    """The events of one request: time since the first, since the one before, thread, event."""
    kind = tf.KINDS[shown.kind[number]] if 0 <= shown.kind[number] < len(tf.KINDS) else "request"
    events = np.flatnonzero(times[number])
    first = before = int(times[number, events[0]])
    rows = []
    for event in events:
        when = int(times[number, event])
        rows.append([f"{(when - first) / 1000:.2f}", f"{(when - before) / 1000:+.2f}", found.threads[shown.who[number, event]],
                     stages.EVENT_NAMES[int(event)]])
        before = when
    head = (f"{kind} of {shown.bytes[number]} bytes at {shown.offset[number]}, queue {shown.queue[number]}, name {shown.tag[number]}, "
            f"at {first / 1e9:.6f} s: {title}")
    return head, rows
