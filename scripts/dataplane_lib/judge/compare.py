# SPDX-License-Identifier: GPL-2.0-only
"""dataplane compare: results made at different times or on different machines, arm by arm.

The session is the unit. Runs of one session have in common what the next one has otherwise (heat, placement of memory, neighbours), so that
two sessions of equal arms differ by more than their runs do; how much, only several sessions a side tell. With one a side the
interval is that within these sessions, and nothing is concluded from it.
"""

import os
import statistics

from .. import units
from . import gate, stages, words
from ..model import guest_arm, metrics
from ..stats import grid
from ..errors import NotMeasured, Refused

# Facts that differ between any two sessions and say nothing.
_PASSING = {"date", "load"}
# Settings that make another measurement.
_SETTINGS = ("job", "program", "options", "command", "variables", "runtime", "ramp", "repeats", "warmup", "file", "fill", "pin", "clients", "choices")
WITHIN = "within these sessions"


def compare(before, after, places, jobs, fail_if=(), dead_band=1.0):
    """A digest that compares the results AFTER with BEFORE (lists of digests); PLACES are their directories, JOBS their job files, in that order.

    Each of its runs says in "session" which of PLACES it is from. FAIL_IF are limits that are held against it.
    """
    before, after = _one_name(before, after)
    results = [*before, *after]
    arms = _matched(before, after, places)
    primary = before[0]["study"]["primary"]
    several = min(len(before), len(after)) > 1
    changes = {key: _changes(before, after, arms, key) for key in metrics.BY_KEY}
    out = _combined(before, after, arms, places, changes)
    lines = [[_line(key, key == primary, out, arm, changes[key].get(arm), several) for key in _keys(primary) if arm in changes[key]] for arm in arms]
    if not all(each and each[0]["primary"] for each in lines):
        raise NotMeasured(f"{primary}: not every result has a figure for it")
    # What makes the whole comparison doubtful stands first.
    out["compared"] = [hosts(*results), *_settings(results, jobs)]
    out["warnings"] = [*out["compared"], *_notes(before, after), *out["warnings"]]
    out["verdict"] = {"level": grid.LEVEL, "within": not several, "sentences": _sentences(before, after, arms, lines, several),
                      "arms": [{"name": arm, "lines": each} for arm, each in zip(arms, lines)]}
    stages.judge(out)
    if fail_if:
        gate.hold_sessions(out, fail_if, dead_band, lambda key: _sides(before, after, arms, key))
    return out


def hosts(*results):
    """One line: in what the hosts of results differ, or that they do not."""
    facts = [{k: v for k, v in r["host"].items() if k not in _PASSING} for r in results]
    differ = [f"{k} ({_every(f.get(k, 'unknown') for f in facts)})" for k in dict.fromkeys(k for f in facts for k in f)
              if len({str(f.get(k)) for f in facts}) > 1]
    if differ:
        return f"the hosts or their software differ, and with them the figures may: {'; '.join(differ)}"
    return f"all {len(facts[0])} facts known about the hosts are the same. Load and temperature are not compared"


def _one_name(before, after):
    """BEFORE and AFTER; where each has but one arm, that is the same one, whatever it is called."""
    if any(len(r["arms"]) != 1 for r in [*before, *after]):
        return before, after
    name = before[0]["arms"][0]["name"]

    def named(result):
        arm = {**result["arms"][0], "name": name, "against": name}
        return {**result, "arms": [arm], "runs": [{**run, "arm": name} for run in result["runs"]]}
    return [named(r) for r in before], [named(r) for r in after]


def _matched(before, after, places):
    """The names of the arms that all results have."""
    common = [a["name"] for a in before[0]["arms"] if all(a["name"] in {b["name"] for b in r["arms"]} for r in [*before, *after])]
    if not common:
        raise Refused(f"no arm in common between {' and '.join(str(p) for p in places)}: "
                      + " / ".join(units.listed(a["name"] for a in r["arms"]) for r in [*before, *after]))
    return common


def _keys(primary):
    """The metrics of a table: the one that decides first, each question once."""
    return [primary, *(k for k in ("iops", "lat_mean_us", "lat_p50_us", "lat_p99_us", "lat_p99.9_us", "lat_p99.99_us", "target_cpu", "target_us_per_io",
                                   "fio_us_per_io", "kicks_per_io", "calls_per_io", "sleeps_per_io", "switches_per_io") if k != primary)]


def _values(result, arm, key):
    found = {r["repeat"]: r["metrics"].get(key) for r in result["runs"] if r["arm"] == arm}
    return {repeat: value for repeat, value in found.items() if value is not None}


def _sides(before, after, arms, key):
    """{arm: (figures before, figures after)} of the metric KEY, a figure a session; arms of which one side has none are left out."""
    found = {arm: tuple(gate.medians(_values(r, arm, key) for r in results) for results in (before, after)) for arm in arms}
    return {arm: both for arm, both in found.items() if all(both)}


def _changes(before, after, arms, key):
    """{arm: grid.Change} of metric KEY, all arms judged together."""
    figures = {}
    for side, results in (("1", before), ("2", after)):
        for arm in arms:
            each = [_values(r, arm, key) for r in results]
            if not all(each):
                continue
            if max(len(before), len(after)) > 1:
                # A session is one figure.
                figures[arm, side] = {(side, n): statistics.median(v.values()) for n, v in enumerate(each)}
            else:
                figures[arm, side] = {(side, repeat): v for repeat, v in each[0].items()}
    found = grid.judge(figures, [((arm, "2"), (arm, "1")) for arm in arms], rounds=False)
    return {one[0]: change for (one, _), change in found.changes.items()}


def _line(key, primary, out, arm, change, several):
    """A line of the verdict's table, as verdict.Line.record() has it."""
    metric = metrics.BY_KEY[key]
    unit = metric.unit if change.kind != "ratio" else ""
    one, two = (next(a for a in out["arms"] if a["compared"] == (arm, side))["metrics"][key]["value"] for side in "12")
    word = ""
    if several:
        word = words.NONE
        if change.direction:
            good = change.direction * metric.better > 0
            speed = key in ("iops", "bw_mib") or key.startswith("lat_")
            word = ("faster" if good else "slower") if speed else "more" if change.direction > 0 else "less"
    if change.low == change.high == 0:
        text = "the same in every run"
    else:
        text = f"{words.change(change, unit)} ({words.interval(change, unit)}) {word}".rstrip()
    if change.n < 2 and not several and change.high == float("inf"):
        text = f"{words.change(change, unit)} (one run: no interval)"
    return {"metric": key, "primary": primary, "a": one, "b": two, "kind": change.kind, "estimate": change.estimate, "low": change.low,
            "high": change.high, "p": None, "level": change.level, "wanted": change.level, "n": change.n, "word": word, "text": text}


def differences(results):
    """['runtime: 1 / 2', …]: the settings that are not the same in all RESULTS; the order's seed is none."""
    return [f"{k}: {_every(_plain(r['study'].get(k)) for r in results)}" for k in _SETTINGS
            if len({repr(r["study"].get(k)) for r in results}) > 1]


def _plain(value):
    if isinstance(value, dict):
        return ", ".join(f"{k}={_plain(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return " ".join(str(v) for v in value) or "none"
    return "none" if value is None else str(value)


def _every(texts):
    return " / ".join(dict.fromkeys(str(t) for t in texts))


def _settings(results, jobs):
    """Sentences about settings and job files that are not the same."""
    differ = differences(results)
    out = ["the settings differ: " + "; ".join(differ)] if differ else []
    return out + (["the job files differ"] if any(job != jobs[0] for job in jobs) else [])


def _notes(before, after):
    """What else is not the same."""
    results, out = [*before, *after], []
    primaries = [r["study"]["primary"] for r in results]
    if len(set(primaries)) > 1:
        out.append(f"the primary metrics differ ({_every(primaries)}): the first is taken")
    if min(len(before), len(after)) < 2:
        out.append("one session on a side: intervals hold how runs differ within these sessions, not how sessions differ, "
                   "so nothing is concluded; --before R… --after R… takes several")
    if all(r["rtt_ns"] for r in results):
        out.append("cache-line round trip between the CPUs: " + " / ".join(f"{r['rtt_ns']:.0f}" for r in results) + " ns (medians)")
    every = [{a["name"] for a in r["arms"]} for r in results]
    missing = sorted(set().union(*every) - set.intersection(*every))
    if missing:
        out.append(f"not in every result, and not compared: {units.listed(missing)}")
    return out


def _sentences(before, after, arms, lines, several):
    """What became of the primary metric, arm by arm."""
    out = []
    for arm, each in zip(arms, lines):
        start = f"{arm}: " if len(arms) > 1 else ""
        label = metrics.BY_KEY[each[0]["metric"]].label
        if any(a.get("no_measurement") for r in [*before, *after] for a in r["arms"] if a["name"] == arm):
            out.append(f"{start}{label}: {guest_arm.NO_MEASUREMENT}.")
            continue
        change = grid.Change(**{k: each[0][k] for k in ("kind", "estimate", "low", "high", "level", "n")}, p=1.0)
        if not several:
            out.append(f"{start}2 against 1, {WITHIN}: {label} {each[0]['text']}.")
        elif each[0]["word"] == words.NONE:
            out.append(f"{start}{label}: {words.no_difference(change)}.")
        else:
            out.append(f"{start}2 is {words.change(change).lstrip('+-')} {each[0]['word']} than 1: {label} {words.confidence(change)}.")
    return out


def _combined(before, after, arms, places, changes):
    """A digest that holds both sides: what reports are made from."""
    names = _names(before, after, places)
    one, results = before[0], [*before, *after]
    out = {**one, "arms": [], "runs": []}
    for arm in arms:
        base, other = _side(before, arm, names[0], (arm, "1")), _side(after, arm, names[1], (arm, "2"))
        other["values"] = {**base["values"], "result": names[1]}
        base.update(baseline=True, change={})
        base["name"] = base["against"] = _named(base["values"])
        other.update(baseline=False, against=base["name"], name=_named(other["values"]))
        other["change"] = {k: c[arm].estimate for k, c in changes.items() if arm in c and c[arm].kind == "ratio"}
        for key, found in changes.items():
            # What is shown is what was compared, so that both columns are as far apart as the change says.
            if arm in found and found[arm].kind == "ratio" and key in base["metrics"] and key in other["metrics"]:
                other["metrics"][key]["value"] = base["metrics"][key]["value"] * (1 + found[arm].estimate / 100)
        out["arms"] += [base, other]
        for results_, made, first in ((before, base, 0), (after, other, len(before))):
            count = 0
            for n, result in enumerate(results_):
                for run in (r for r in result["runs"] if r["arm"] == arm):
                    count += 1
                    out["runs"].append({**run, "arm": made["name"], "repeat": count, "session": first + n})
    study = {**one["study"], "name": f"compare-{one['study']['name']}", "look_for": "", "published": None, "form": "",
             "title": f"{names[0]} (1) / {names[1]} (2)", "baseline": {"result": names[0]},
             "question": f"What differs between {names[0]} and {names[1]}?",
             "factors": {**_factors(one, arms), "result": list(names)}, "along": "", "choices": {}}
    for key in _SETTINGS:
        values = [r["study"].get(key) for r in results]
        if any(v != values[0] for v in values):
            study[key] = _either(key, values)
    known = dict.fromkeys(k for r in results for k in r["host"])
    cpus = [r["cpus"] for r in results]
    out.update(study=study, host={k: _every(r["host"].get(k) for r in results) for k in known},
               cpus=cpus[0] if all(c == cpus[0] for c in cpus) else {**cpus[0], "fio": _every(c["fio"] for c in cpus), "target": _every(c["target"] for c in cpus)},
               started=_every(r["started"] for r in results), took_s=sum(r["took_s"] for r in results),
               steal_percent=max(r["steal_percent"] for r in results),
               rtt_ns=one["rtt_ns"] if all(r["rtt_ns"] == one["rtt_ns"] for r in results) else None,
               warnings=[f"{name}: {text}" for name, side in zip(names, (before, after)) for r in side for text in r["warnings"]])
    for key in ("ab", "gate", "grid", "told", "stages", "seed", "match", "matrix"):
        out.pop(key, None)
    return out


def _names(before, after, places):
    """What the two sides are called."""
    if len(before) > 1 or len(after) > 1:
        return f"before ({len(before)})", f"after ({len(after)})"
    names = [os.path.basename(os.path.normpath(p)) for p in places]
    return tuple(names if names[0] != names[1] else [str(p) for p in places])


def _side(results, arm, name, compared):
    """The arm ARM of one side: its figures are geometric middles of what is compared."""
    every = [next(a for a in r["arms"] if a["name"] == arm) for r in results]
    out = {**every[0], "values": {**every[0]["values"], "result": name}, "compared": compared, "metrics": {}}
    for key in metrics.BY_KEY:
        entries = [a["metrics"][key] for a in every if key in a["metrics"]]
        if len(entries) == len(every):
            out["metrics"][key] = {"value": statistics.median(e["value"] for e in entries), "min": min(e["min"] for e in entries),
                                   "max": max(e["max"] for e in entries)}
    out.update(runs=sum(a["runs"] for a in every), marked=sum(a["marked"] for a in every),
               no_measurement=", ".join(sorted({a["no_measurement"] for a in every} - {""})),
               few_beyond=sorted({p for a in every for p in a.get("few_beyond", ())}))
    return out


def _factors(one, arms):
    """The factors of the arms that are compared."""
    out = {}
    for arm in (a for a in one["arms"] if a["name"] in arms):
        for name, value in arm["values"].items():
            if value not in out.setdefault(name, []):
                out[name].append(value)
    return out


def _either(key, values):
    """Several values of setting KEY in the form that the page expects."""
    if key == "variables":
        names = dict.fromkeys(k for v in values for k in v)
        return {k: _every(v.get(k, "none") for v in values) for k in names}
    text = _every(_plain(v) for v in values)
    return [text] if key in ("options", "command") else {} if key == "choices" else text


def _named(values):
    return " ".join(f"{k}={v}" for k, v in values.items())
