# SPDX-License-Identifier: GPL-2.0-only
"""dataplane compare: two results, made at different times or on different machines, arm by arm."""

import os
from pathlib import Path

from .. import files, units
from . import verdict
from ..model import guest_arm
from ..read import digest, store
from ..report import write
from ..stats import few, ranks
from ..errors import Refused

# Facts that differ between any two sessions and say nothing.
_PASSING = {"date", "load"}
# Settings that make another measurement.
_SETTINGS = ("runtime", "ramp", "variables", "file", "pin")


def compare(before, after, argv, out=None):
    """Compare the result directory AFTER with BEFORE, and write a report into OUT; returns (what both are together, the report's directory)."""
    if before == after:
        raise Refused(f"{before}: the same result is given twice")
    stored = [store.load(path) for path in (before, after)]
    results = [digest.digest(each) for each in stored]
    pairs = _matched(*results, before, after)
    primary = results[0]["study"]["primary"]
    found = [verdict.of_groups(stored[0].of_arm(a["name"]), stored[1].of_arm(b["name"]), primary, ("1", "2"))
             for a, b in pairs]
    _correct(found)
    first = hosts(*results)
    notes = [first] + _notes(*results, *stored)
    for (a, _), one in zip(pairs, found):
        notes += [(f"{a['name']}: " if len(pairs) > 1 else "") + text for text in one.notes]
    target = files.result_directory(f"compare-{results[0]['study']['name']}", out)
    combined, runs = _combined(results, stored, pairs, (before, after), target, argv)
    combined["warnings"] = notes + combined["warnings"]
    combined["compared"] = first
    combined["verdict"] = {"level": ranks.LEVEL, "sentences": _sentences(pairs, found),
                           "arms": [{"name": a["name"], "lines": [line.record() for line in one.lines]}
                                    for (a, _), one in zip(pairs, found)]}
    write.write(combined, target, runs)
    return combined, target


def hosts(one, two):
    """One line: in what the hosts of two results differ, or that they do not."""
    facts = [{k: v for k, v in r["host"].items() if k not in _PASSING} for r in (one, two)]
    differ = [f"{k} ({facts[0].get(k, 'unknown')} / {facts[1].get(k, 'unknown')})"
              for k in dict.fromkeys([*facts[0], *facts[1]]) if facts[0].get(k) != facts[1].get(k)]
    if differ:
        return f"the hosts or their software differ, and with them the figures may: {'; '.join(differ)}"
    return f"all {len(facts[0])} facts known about the two hosts are the same; load and temperature are not compared"


def _matched(one, two, before, after):
    """[(arm, arm)] of the same name in both, or the only two there are."""
    others = {arm["name"]: arm for arm in two["arms"]}
    pairs = [(arm, others[arm["name"]]) for arm in one["arms"] if arm["name"] in others]
    if not pairs and len(one["arms"]) == len(two["arms"]) == 1:
        pairs = [(one["arms"][0], two["arms"][0])]
    if not pairs:
        raise Refused(f"no arm in common between {before} and {after}: "
                      + units.listed(a["name"] for a in one["arms"]) + " / " + units.listed(others))
    return pairs


def _correct(found):
    """Several arms are as many questions: the primary metric's p are corrected too, where there were runs enough for any test."""
    firsts = [one.primary for one in found if one.primary.found.enough]
    for line, p in zip(firsts, ranks.holm([line.p for line in firsts])):
        line.p, line.together = p, len(firsts)
        if p > 1 - ranks.LEVEL:
            line.direction = 0


def _notes(one, two, before, after):
    """What else is not the same."""
    out = ["two sessions: what changed between them, host, heat or neighbours, is not in any interval"]
    differ = [k for k in _SETTINGS if one["study"].get(k) != two["study"].get(k)]
    if differ:
        out.append("the settings differ: " + "; ".join(
            f"{k} ({one['study'].get(k)} / {two['study'].get(k)})" for k in differ))
    if one["study"]["primary"] != two["study"]["primary"]:
        out.append(f"the primary metrics differ ({one['study']['primary']} / {two['study']['primary']}): the first is taken")
    jobs = [each.header["job_files"] for each in (before, after)]
    if jobs[0] != jobs[1]:
        out.append("the job files differ")
    if one["rtt_ns"] and two["rtt_ns"]:
        out.append(f"cache-line round trip between the CPUs: {one['rtt_ns']:.0f} / {two['rtt_ns']:.0f} ns (medians)")
    missing = sorted({a["name"] for a in one["arms"]} ^ {a["name"] for a in two["arms"]})
    if missing and len(one["arms"]) + len(two["arms"]) > 2:
        out.append("in one result only, and not compared: " + ", ".join(missing))
    return out


def _combined(results, stored, pairs, places, target, argv):
    """(a digest that holds both: what reports are made from, {name: store.Run} of all its runs)."""
    one, two = results
    made = {}
    out = {**one, "command": " ".join(["dataplane", *argv]), "arms": [], "runs": []}
    names = [os.path.basename(os.path.normpath(p)) for p in places]
    if names[0] == names[1]:
        names = [str(p) for p in places]
    for a, b in pairs:
        base = {**a, "values": {**a["values"], "result": names[0]}, "baseline": True}
        base["name"] = base["against"] = _named(base["values"])
        other = {**b, "values": {**a["values"], "result": names[1]}, "baseline": False, "against": base["name"]}
        other["name"] = _named(other["values"])
        base["change"] = {}
        other["change"] = {k: 100 * (v["value"] / a["metrics"][k]["value"] - 1) for k, v in b["metrics"].items()
                           if k in a["metrics"] and a["metrics"][k]["value"]}
        out["arms"] += [base, other]
        for arm, new, result, place, kept in ((a, base, one, places[0], stored[0]), (b, other, two, places[1], stored[1])):
            raw = os.path.relpath(Path(place) / "raw", target / "raw")
            out["runs"] += [{**r, "arm": new["name"], "directory": f"{raw}/{r['directory']}"}
                            for r in result["runs"] if r["arm"] == arm["name"]]
            made.update({f"{raw}/{run.name}": run for run in kept.of_arm(arm["name"])})
    study = {**one["study"], "name": f"compare-{one['study']['name']}", "look_for": "", "published": None,
             "title": f"{names[0]} (1) / {names[1]} (2)", "baseline": {"result": names[0]},
             "question": f"What differs between {places[0]} and {places[1]}?",
             "factors": {**_values(pairs), "result": names}, "along": ""}
    warnings = [f"{name}: {text}" for name, result in zip(names, results) for text in result["warnings"]]
    host = {k: _either(one["host"].get(k), two["host"].get(k)) for k in dict.fromkeys([*one["host"], *two["host"]])}
    out.update(study=study, warnings=warnings, host=host)
    out.pop("ab", None)
    return out, made


def _sentences(pairs, found):
    """What became of the primary metric, arm by arm."""
    many = len(pairs) > 1
    return [(f"{a['name']}: " if many else "") + f"{one.primary.metric.label} of 2 against 1: "
            + (guest_arm.NO_MEASUREMENT if a["no_measurement"] or b["no_measurement"] else _said(one.primary)) + "."
            for (a, b), one in zip(pairs, found)]


def _said(line):
    """A line's text, with words for '?'."""
    return f"{few.untold(line.found.n)} ({verdict.change(line.found)})" if line.word == "?" else line.text


def _values(pairs):
    """The factors of the arms that are compared."""
    out = {}
    for arm, _ in pairs:
        for name, value in arm["values"].items():
            if value not in out.setdefault(name, []):
                out[name].append(value)
    return out


def _named(values):
    return " ".join(f"{k}={v}" for k, v in values.items())


def _either(a, b):
    return a if a == b else f"{a} / {b}"
