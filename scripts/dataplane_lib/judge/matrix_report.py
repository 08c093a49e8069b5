# SPDX-License-Identifier: GPL-2.0-only
"""What a matrix found: throughput and CPU per MiB of two arms, point by point and over all points."""

import math

import numpy as np

from .. import units
from . import arms as judged, words
from ..model import shape, study
from ..stats import grid, ranks

_KEYS = ("bw_mib", "cpu_us_per_mib")
_NAMES = {"bw_mib": "throughput", "cpu_us_per_mib": "CPU per MiB"}


def tell(result):
    """Put a table for each arm that has a baseline, and sentences, into RESULT, a digest."""
    original = result.get("matrix", {}).get("protocol") == study.ORIGINAL
    sentences, tables = [], []
    groups = {}
    for arm in result["arms"]:
        if arm["against"] != arm["name"]:
            groups.setdefault(shape.differs(result, arm), []).append((shape.base(result, arm), arm))
    for name, points in groups.items():
        found = {} if original else {key: _judged(result, points, key) for key in _KEYS}
        tables.append(_table(result, name, points, found))
        start = f"{name}: " if len(groups) > 1 else ""
        sentences += [start + text for text in (_plain(points) if original else _sentences(result, points, found))]
    if original:
        sentences.append("As in the original each figure is the mean of two runs, after one that was thrown away, with all runs of an arm after "
                         "each other: there is no interval and no test, and what drifts is taken for a difference.")
    result["told"] = {"sentences": sentences, "tables": tables}


def _judged(result, points, key):
    """[grid.Change or None] of each point, all of them judged together."""
    found = grid.judge(judged.figures(result, key), [(arm["name"], base["name"]) for base, arm in points]).changes
    return [found.get((arm["name"], base["name"])) for base, arm in points]


def _overall(result, points, key):
    """The Comparison of the geometric mean of the points' ratios, round by round; None where rounds are not whole."""
    ratios = {}
    for base, arm in points:
        runs = [{r["repeat"]: r["metrics"].get(key) for r in result["runs"] if r["arm"] == a["name"]} for a in (base, arm)]
        for repeat, value in runs[0].items():
            if value and runs[1].get(repeat):
                ratios.setdefault(repeat, []).append(math.log(runs[1][repeat] / value))
    whole = [math.exp(np.mean(r)) for _, r in sorted(ratios.items()) if len(r) == len(points)]
    return ranks.paired([1.0] * len(whole), whole) if whole else None


def _sentences(result, points, found):
    out = []
    for key in _KEYS:
        over = _overall(result, points, key)
        if over is None:
            continue
        word = _word(key, over.estimate) if over.resolved else "" if over.enough else f"inconclusive with {units.counted(over.n, 'run')}"
        out.append(f"over all points ({len(points)}) {_NAMES[key]} changes by {words.change(over)} ({words.confidence(over)}"
                   f"{f', {word}' if word else ''}; geometric mean, round by round).")
        told = [(p, f) for p, f in zip(points, found[key]) if f and f.direction]
        out.append(f"{_NAMES[key]} differs at {len(told)} of {len(points)} points"
                   + (": " + "; ".join(f"{_place(result, base)} {words.change(f)} ({words.interval(f)})" for (base, _), f in told) if told else "") + ".")
    return out


def _plain(points):
    """The span of the changes, with nothing to say how sure they are."""
    out = []
    for key in _KEYS:
        changes = [arm["change"][key] for _, arm in points if key in arm["change"]]
        if changes:
            out.append(f"{_NAMES[key]} changes by {units.percent(min(changes))} to {units.percent(max(changes))} over the points ({len(points)}), "
                       f"{units.percent(float(np.median(changes)))} in the middle.")
    return out


def _word(key, estimate):
    if key == "bw_mib":
        return "faster" if estimate > 0 else "slower"
    return "more" if estimate > 0 else "less"


def _place(result, base):
    return shape.workload(result, base) or shape.full(base["values"])


def _table(result, name, points, found):
    """A row a point, in the original's form."""
    varied = [k for k in points[0][0]["values"] if any(b["values"].get(k) != a["values"].get(k) for b, _ in points for a, _ in points)]
    other = shape.label({k: v for k, v in points[0][0]["values"].items() if points[0][1]["values"].get(k) != v})
    top = [""] * len(varied) + ["throughput MiB/s", "", "", "CPU us per MiB", "", ""]
    rows = []
    for i, (base, arm) in enumerate(points):
        row = [base["values"].get(k, "-") for k in varied]
        for key in _KEYS:
            row += [units.short(shape.value(base, key)), units.short(shape.value(arm, key)),
                    _change(arm, key, found[key][i] if found else None)]
        rows.append(row)
    head = [*varied, *[other, name, "change"] * 2]
    note = "CPU is that of both sides, fio's and the target's, divided by what was moved; " + (
        "means of two runs." if not found else
        f"[ ] is the {100 * grid.LEVEL:.0f} % interval with all points judged together, * a difference.")
    return {"title": f"{name} against {other}", "top": top, "head": head, "rows": rows, "note": note,
            "optional": [len(varied) + n for n in (3, 4, 1, 0)]}


def _change(arm, key, change):
    """The change in %: with its interval where there is one."""
    if change and change.kind == "ratio" and change.n > 1:
        return words.brief(change) + ("*" if change.direction else "")
    return units.percent(arm["change"].get(key))
