# SPDX-License-Identifier: GPL-2.0-only
"""In which stage of a request's life the difference between traced arms sits: for the middle, and for the slowest 1 % and 0.1 %.

A group's requests are made of stages that add up to their lifetime, so the difference between two arms is that of their stages. What is
compared are means of the runs' means, as medians would not add up. Whether a lifetime differs is judged as every other metric is: in pairs
where there are pairs, else all arms together.
"""

import statistics
from dataclasses import asdict

from .. import units
from . import words
from ..model import metrics, shape
from ..stats import grid, ranks
from ..trace import stages

# More compared arms than this are in the table only.
_FEW = 4
# The stages that are named: the largest until so much of the difference is told, those that go against it from so much on.
_MOST, _TOLD, _AGAINST = 3, 0.8, 0.2
# The engine alone cannot know when a request was where in between, nor what woke it.
_BETWEEN = ("kicked", "engine woken")
_ELSEWHERE = {"seen by the engine": "seen by the engine (target and all)"}


def judge(result):
    """Put result["stages"] into RESULT, a digest, where two of its arms at least were traced."""
    traced = {a["name"]: _runs(result, a["name"]) for a in result["arms"]}
    traced = {name: runs for name, runs in traced.items() if runs}
    pairs = [(a["name"], a["against"]) for a in result["arms"] if a["name"] != a["against"] and {a["name"], a["against"]} <= set(traced)]
    if not traced:
        return
    view, fold = _view(traced.values())
    out = result["stages"] = {"view": view, "arms": {}, "changes": [], "sentences": []}
    if view is None:
        out["sentences"].append("Stages are not compared: some arms have the engine's trace only, others the target's.")
        return
    made = {name: {number: {g: _made(parts[view][g], fold) for g in stages.GROUPS} for number, parts in runs.items()} for name, runs in traced.items()}
    out["arms"] = {name: {g: _mean([run[g] for run in runs.values()]) for g in stages.GROUPS} for name, runs in made.items()}
    for group in stages.GROUPS:
        if all(out["arms"][name][group]["requests"] >= metrics.FEWEST_BEYOND for pair in pairs for name in pair):
            out["changes"] += _changes(result, group, made, pairs, out["arms"])
    out["sentences"] += _sentences(result, out)


def _runs(result, arm):
    """{run's number: parts of its trace}; those of results before there were parts are none."""
    found = [r for r in result["runs"] if r["arm"] == arm]
    return {(r.get("session"), r["repeat"]): r["trace"]["parts"] for r in found if (r.get("trace") or {}).get("parts")}


def _view(traced):
    """(the view that all runs have, is it the engine's where some runs know more)."""
    sides = [set(parts) for runs in traced for parts in runs.values()]
    common = set.intersection(*sides)
    view = next((side for side in ("both", "engine", "target") if side in common), None)
    return view, view == "engine" and any("both" in found for found in sides)


def _made(group, fold):
    """GROUP with the stages that only some arms tell apart in one, where FOLD."""
    if not fold or "seen by the engine" not in group["stages"]:
        return group
    parts = dict(group["stages"])
    for name in _BETWEEN:
        parts["seen by the engine"] += parts.pop(name, 0.0)
    return {**group, "stages": {_ELSEWHERE.get(k, k): v for k, v in parts.items()}}


def _mean(runs):
    names = [n for n in (*stages.NAMES.values(), *_ELSEWHERE.values()) if any(n in run["stages"] for run in runs)]
    return {"requests": sum(run["requests"] for run in runs), "ns": statistics.fmean(run["ns"] for run in runs),
            "stages": {n: statistics.fmean(run["stages"].get(n, 0.0) for run in runs) for n in names}}


def _changes(result, group, made, pairs, arms):
    """[{arm, against, group, change, stages}]: each lifetime's change and what it is made of, the largest part first."""
    lives = {name: {number: run[group]["ns"] for number, run in runs.items()} for name, runs in made.items()}
    judged = _judged(result, lives, pairs)
    out = []
    for arm, base in pairs:
        one, two = arms[base][group], arms[arm][group]
        names = list(dict.fromkeys([*one["stages"], *two["stages"]]))
        parts = [{"stage": n, "a": one["stages"].get(n, 0.0), "b": two["stages"].get(n, 0.0)} for n in names]
        for part in parts:
            part["difference"] = part["b"] - part["a"]
        parts.sort(key=lambda part: -abs(part["difference"]))
        out.append({"arm": arm, "against": base, "group": group, "a": one["ns"], "b": two["ns"], "change": judged[arm, base], "stages": parts})
    return out


def _judged(result, lives, pairs):
    """{(arm, baseline): a change as a dict, with its DIRECTION}, of lifetimes LIVES by arm and run."""
    if "ab" in result:
        (arm, base), left = pairs[0], set(result["verdict"]["left_out"])
        common = [n for n in lives[base] if n in lives[arm] and n[1] not in left] or list(lives[base])
        found = ranks.paired([lives[base][n] for n in common], [lives[arm][n] for n in common], result["verdict"]["level"])
        direction = (1 if found.estimate > 0 else -1) if found.resolved else 0
        return {(arm, base): {"kind": found.kind, "estimate": found.estimate, "low": found.low, "high": found.high, "level": found.wanted,
                              "n": found.n if found.enough else min(found.n, 2), "direction": direction}}
    several = "compared" in result and not result["verdict"]["within"]
    if several:
        # A session is one figure.
        lives = {name: {s: statistics.median(v for n, v in runs.items() if n[0] == s) for s in {n[0] for n in runs}} for name, runs in lives.items()}
    found = grid.judge(lives, pairs, rounds="compared" not in result)
    return {pair: {**asdict(change), "direction": change.direction if "compared" not in result or several else 0} for pair, change in found.changes.items()}


def _sentences(result, found):
    out, by_arm = [], {}
    for one in found["changes"]:
        by_arm.setdefault((one["arm"], one["against"]), []).append(one)
    for (arm, base), each in by_arm.items() if len(by_arm) <= _FEW else ():
        name = _name(result, arm)
        moved = [one for one in each if one["change"]["direction"]]
        out += [_moved(name, one) for one in moved]
        still = [one for one in each if one not in moved]
        if still:
            told = ", ".join(f"{stages.GROUP_NAMES[one['group']]} {_still(one)}" for one in still)
            out.append(f"Lifetime of {name}: {told}.")
    if len(by_arm) > _FEW:
        largest = max((one for one in found["changes"] if one["change"]["direction"]), key=lambda one: abs(one["b"] - one["a"]), default=None)
        out += [_moved(_name(result, largest["arm"]), largest)] if largest else []
    few = [stages.GROUP_NAMES[g] for g in stages.GROUPS if g not in {one["group"] for one in found["changes"]}] if by_arm else []
    if few:
        out.append(f"Stages of the {' and the '.join(few)} not compared: fewer than {metrics.FEWEST_BEYOND} requests.")
    if found["view"] != "both" and by_arm:
        out.append(f"The stages are those of the {found['view']} alone: the other side was not traced in every arm.")
    return out


def _name(result, arm):
    found = next(a for a in result["arms"] if a["name"] == arm)
    if "ab" in result or ("compared" in result and len(result["arms"]) == 2):
        return "B" if "ab" in result else "2"
    workload = shape.workload(result, shape.base(result, found))
    return f"{workload}: {shape.differs(result, found)}" if workload else shape.differs(result, found)


def _still(one):
    change = _Change(one["change"])
    if one["change"]["n"] < 3:
        return words.inconclusive(change, one["change"]["n"])
    text = words.no_difference(change, unit="ns")
    return text[0].lower() + text[1:]


def _moved(name, one):
    """'Slowest 1 %: B is 34.5 µs slower (52.1 to 86.6 µs, 95 % CI +50 % to +80 %): 31.4 µs in "worker begins"; …'."""
    total = one["b"] - one["a"]
    title = stages.GROUP_NAMES[one["group"]]
    size, word = units.time(abs(total)), "slower" if total > 0 else "faster"
    along = [part for part in one["stages"] if part["difference"] * total > 0]
    named, told = [], 0.0
    for part in along[:_MOST]:
        named.append(f"{units.time(abs(part['difference']))} in \"{part['stage']}\" ({_time(part['a'])} to {_time(part['b'])})")
        told += part["difference"] / total
        if told >= _TOLD:
            break
    against = [f"\"{part['stage']}\" {'shorter' if total > 0 else 'longer'} by {units.time(abs(part['difference']))}" for part in one["stages"]
               if part["difference"] * total < 0 and abs(part["difference"]) > _AGAINST * abs(total)]
    return (f"{title[0].upper()}{title[1:]}: {name} is {size} {word} ({units.time(one['a'])} to {units.time(one['b'])}, "
            f"{words.confidence(_Change(one['change']))}): {', '.join(named)}{'; ' + ', '.join(against) if against else ''}.")


def _time(ns):
    return units.time(ns) if ns else "0"


class _Change:
    """A change as words want it."""

    def __init__(self, facts):
        self.__dict__.update(facts)


def tables(result):
    """[a table as a dict] of result["stages"]: two arms side by side, or a row an arm."""
    found = result.get("stages", {})
    if not found.get("arms"):
        return []
    if len(found["changes"]) and len({(one["arm"], one["against"]) for one in found["changes"]}) == 1:
        return [_side_by_side(found)]
    return [_by_arm(result, found)]


def _side_by_side(found):
    """A row a stage: both arms and the difference, group by group."""
    names = ("A", "B") if {"arm=A", "arm=B"} == set(found["arms"]) else ("1", "2")
    groups = found["changes"]
    rows = []
    order = [n for n in (*stages.NAMES.values(), *_ELSEWHERE.values()) if any(p["stage"] == n for one in groups for p in one["stages"])]
    for stage in [*order, stages.LIFE]:
        row = [stage]
        for one in groups:
            part = next((p for p in one["stages"] if p["stage"] == stage), {"a": one["a"], "b": one["b"]} if stage == stages.LIFE else {"a": 0.0, "b": 0.0})
            row += [f"{part['a'] / 1000:.2f}", f"{part['b'] / 1000:.2f}", f"{(part['b'] - part['a']) / 1000:+.2f}"]
        rows.append(row)
    top = [""] + [text for one in groups for text in (stages.GROUP_NAMES[one["group"]], "", "")]
    return {"title": "Where the difference sits", "top": top, "head": ["until", *(text for _ in groups for text in (*names, "differs"))], "rows": rows,
            "note": "Mean µs of a request of each group by lifetime; a stage begins with the event before it, and all stages add up to the last row.",
            "optional": [7, 8, 9] if len(groups) > 2 else []}


def _by_arm(result, found):
    """A row an arm: how long its requests take, and the stage that has most of it, group by group."""
    rows = []
    for arm in result["arms"]:
        known = found["arms"].get(arm["name"])
        if not known:
            continue
        row = [shape.label(arm["values"]) or arm["name"]]
        for group in known.values():
            stage, ns = max(group["stages"].items(), key=lambda item: item[1])
            row += [units.time(group["ns"]), stage, f"{100 * ns / group['ns']:.0f}" if group["ns"] else "-"]
        rows.append(row)
    count = len(next(iter(found["arms"].values())))
    top = [""] + [text for group in stages.GROUPS for text in (stages.GROUP_NAMES[group], "", "")]
    return {"title": "What requests are made of", "top": top, "head": ["arm", *("mean", "most of it until", "%") * count], "rows": rows,
            "note": "Requests grouped by lifetime; the stage that has the largest share of it.", "optional": [4, 5, 6] if count > 2 else []}
