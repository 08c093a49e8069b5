# SPDX-License-Identifier: GPL-2.0-only
"""A study of where requests' time goes: what is kept of a run's traces, and how the report tells it."""

import math
import statistics
from pathlib import Path

from .. import units
from ..model import shape
from . import records as tf, requests, show, stages, workload

FILE = "trace.json"
_SIDES = ("engine", "target")
_COMPARED = ("requests", "size", "lifetime", "depth", "busy")
# Arms of which a request is shown event by event
_FEW = 8
_VERBS = {"target woken": "the sleeping target is woken", "engine woken": "the sleeping engine is woken", "worker begins": "a worker begins with it",
          "worker done": "the worker has done it"}
# Stages by what they are: the way there, the target's part, the way back.
_THERE = (tf.SUBMIT, tf.KICK, tf.WOKEN, tf.POP)
_INSIDE = (tf.START, tf.WORK, tf.WORKED, tf.DONE, tf.PUBLISH)
_BACK = (tf.CALL, tf.AWAKE, tf.SEEN, tf.RETURN)


def keep(directory):
    """What is kept of the traces in DIRECTORY, as they are large: the digest, and two requests event by event; None without traces."""
    paths = sorted(Path(directory).glob("trace.*"))
    if not paths:
        return None
    found = requests.load(paths)
    shown, what = show.of_interest(found)
    return {**show.digest(found, shown, what), "timeline": show.timeline(found, shown, 1)}


def tell(result):
    """Put sentences and tables into RESULT, a digest."""
    arms = [(arm, [r["trace"] for r in result["runs"] if r["arm"] == arm["name"] and r.get("trace")]) for arm in result["arms"]]
    arms = [(arm, traces) for arm, traces in arms if traces]
    varied = [n for n in arms[0][0]["values"] if len({str(arm["values"].get(n)) for arm, _ in arms}) > 1]
    names = {arm["name"]: shape.label({n: arm["values"][n] for n in varied if n in arm["values"]}) or arm["name"] for arm, _ in arms}
    tables = [_overview(arms), _summary(result, names, arms), _loads(arms)]
    tables += [_stages(names[arm["name"]], traces) for arm, traces in arms]
    events = [_events(names[arm["name"]], traces[0]) for arm, traces in arms] if len(arms) <= _FEW else []
    # On a terminal the first two, with -v all but the events.
    result["told"] = {"sentences": sentences(result, names, arms), "tables": tables + events, "shown": (2, len(tables))}


def middle(traces):
    """{stage: figures}, each the median of the runs that have the stage, in the order of a request's life."""
    out = {}
    for name in [*stages.NAMES.values(), stages.LIFE]:
        rows = [row for trace in traces for row in trace["stages"] if row["stage"] == name]
        if rows:
            out[name] = {key: statistics.median(row[key] for row in rows) for key in show.COLUMNS if all(key in row for row in rows)}
    return out


def _shares(traces, events):
    names = {stages.NAMES[e] for e in events}
    return statistics.median(sum(row["share"] for row in trace["stages"] if row["stage"] in names) for trace in traces)


def _overview(arms):
    names = list(arms[0][0]["values"])
    rows = []
    for arm, traces in arms:
        life = middle(traces)[stages.LIFE]
        rows.append([*(arm["values"].get(n, "-") for n in names), units.short(shape.value(arm, "iops")), units.time(life["median"]), units.time(life["p99"]),
                     *(f"{_shares(traces, part):.1f}" for part in (_THERE, _INSIDE, _BACK))])
    top = [""] * len(names) + ["", "lifetime", "", "% of the time", "", ""]
    return {"title": "Where the time goes", "top": top, "head": [*names, "IOPS", "median", "p99", "there", "in the target", "back"], "rows": rows,
            "note": "there: from fio's queue() to the target's taking the request; back: from its having shown the completion to fio's getevents(). "
                    "Medians of runs; tracing itself costs some 25 ns an event."}


def _stages(name, traces):
    rows = [show.stage_row(stage, row) for stage, row in middle(traces).items()]
    return {"title": f"Stages of {name}", "top": show.STAGES_TOP, "head": show.STAGES, "rows": rows, "note": show.STAGES_NOTE,
            "optional": show.STAGES_OPTIONAL}


def _summary(result, names, arms):
    """The stages of the first arm, and beside it of the one that differs from it most in the lifetime of a request."""
    first = arms[0][0]["name"]
    changed = [one for one in result.get("stages", {}).get("changes", ()) if first == one["against"] and one["change"]["direction"]]
    other = max(changed, key=lambda one: abs(math.log(one["b"] / one["a"])))["arm"] if changed else None
    shown = [(arm, middle(traces)) for arm, traces in arms if arm["name"] in (first, other)]
    rows = []
    for stage in [*stages.NAMES.values(), stages.LIFE]:
        if any(stage in found for _, found in shown):
            rows.append([stage, *(text for _, found in shown for text in _brief(found.get(stage)))])
    top = [""] + [text for arm, _ in shown for text in (names[arm["name"]], "", "")]
    also = f"; {names[other]} differs most from it" if other else ""
    return {"title": f"Stages of {names[first]}", "top": top, "head": ["until", *("median", "p99", "1 %") * len(shown)], "rows": rows,
            "note": f"A stage begins with the event before it; 1 %: its share, in %, of the time of the slowest 1 % of requests{also}. -v has all arms."}


def _brief(row):
    if row is None:
        return "-", "-", "-"
    return units.time(row["median"]), units.time(row["p99"]), f"{row['share_p99']:.1f}" if "share_p99" in row else "-"


def _loads(arms):
    """A row an arm: the workload as each side saw it, side by side."""
    names = list(arms[0][0]["values"])
    rows = []
    for arm, traces in arms:
        row = [arm["values"].get(n, "-") for n in names]
        for key in _COMPARED:
            row += [_figure([t["load"].get(side, {}).get(key) for t in traces], key) for side in _SIDES]
        rows.append(row)
    top = [""] * len(names) + [text for key in _COMPARED for text in (workload.LABELS[key], "")]
    return {"title": "The workload, as each side saw it", "top": top, "head": [*names, *_SIDES * len(_COMPARED)], "rows": rows,
            "note": "The engine's lifetime is from shown to seen, the target's from taken to published; depth and utilisation (the time with anything in flight) likewise."}


def _figure(values, key):
    found = [v for v in values if v is not None]
    if not found:
        return "-"
    return f"{statistics.median(found):.0f}" if key in ("requests", "size") else f"{statistics.median(found):.2f}"


def _events(name, trace):
    """The request of median lifetime."""
    head, rows = trace["timeline"][0]
    return {"title": f"A request of {name}, event by event", "top": [""] * len(rows[0]), "head": show.TIMELINE, "rows": rows, "note": head}


def sentences(result, names, arms):
    """What is said of the arms, named by NAMES: where the time goes, what differs, and whether it is to be trusted."""
    out = []
    for arm, traces in arms:
        if not arm["baseline"]:
            continue
        found = middle(traces)
        life = found.pop(stages.LIFE)
        stage, largest = max(found.items(), key=lambda item: item[1]["share"])
        out.append(f"{names[arm['name']]}: a request takes {units.time(life['median'])} (median); the largest part of all requests' time, {largest['share']:.0f} %, goes by until "
                   f"{_VERBS.get(stage, 'it is ' + stage)}.")
    out += result.get("stages", {}).get("sentences", [])
    apart = [names[arm["name"]] for arm, traces in arms if not same_workload(traces)]
    whole = [arm for arm, traces in arms if all(t["side"] == "both" for t in traces)]
    if apart:
        out.append(f"Both sides did not see the same workload: {'; '.join(apart)}.")
    elif len(whole) == len(arms):
        edges = "" if all(_as_many(t) for _, traces in arms for t in traces) else " but for those under way at the edges"
        out.append(f"Both sides saw the same workload in every arm: as many requests{edges}, of the same size and mix.")
    else:
        out.append(f"{len(arms) - len(whole)} of {len(arms)} arms have the trace of one side only.")
    for word, key in (("have the same name in both traces and are not the same request", "different"), ("events contradict their order", "wrong")):
        count = sum(t[key] for _, traces in arms for t in traces)
        if count:
            out.append(f"{count} {word}.")
    return out


def _as_many(trace):
    """Whether both sides of TRACE had exactly as many requests."""
    engine, target = (trace["load"].get(side, {}).get("requests") for side in _SIDES)
    return engine == target


def same_workload(traces):
    """Whether both sides of all TRACES had as many requests (but for those under way at the ends), of the same size and mix."""
    for trace in traces:
        if len(trace["load"]) < 2:
            continue
        engine, target = trace["load"]["engine"], trace["load"]["target"]
        if abs(engine["requests"] - target["requests"]) > 2 * engine["deepest"]:
            return False
        for key in ("size", "reads"):
            if abs((engine[key] or 0) - (target[key] or 0)) > 0.01 * (engine[key] or 0):
                return False
    return True
