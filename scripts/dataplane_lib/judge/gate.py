# SPDX-License-Identifier: GPL-2.0-only
"""--fail-if: limits held against a result, for scripts: a sentence each, and one exit status for all of them."""

import re
import statistics

from .. import units
from . import arms as judged, words
from ..model import guest_arm, metrics, shape
from ..stats import grid, limits
from ..errors import INCONCLUSIVE, REGRESSION, CommandLine, Faults

# Runs, or sessions, that a gate wants of each side: two know nothing of how far apart they may be.
FEWEST = 3
_STATUS = {limits.PASSED: REGRESSION, limits.KEPT: 0, limits.OPEN: INCONCLUSIVE}
_WORDS = {limits.PASSED: "passed", limits.KEPT: "kept", limits.OPEN: "inconclusive"}
_FORM = re.compile(r"\s*(\S+?)\s*([<>])\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*(%|[A-Za-zµ/1]*)\s*")
# What may stand behind a figure, by the metric's unit.
_UNITS = {"us": {"": 1, "ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6}, "1/s": {"": 1, "k": 1e3, "M": 1e6, "1/s": 1, "/s": 1},
          "MiB/s": {"": 1, "MiB/s": 1, "GiB/s": 1024}}
# Arms that are named in a sentence.
_FEW = 4


def parse(texts, band=limits.BAND):
    """The Limits of TEXTS, each a --fail-if; all mistakes in them are reported at once."""
    faults = Faults()
    found = tuple(faults.check(_parse, text, band) for text in texts)
    faults.raise_any(CommandLine)
    return found


def _parse(text, band):
    match = _FORM.fullmatch(text)
    if not match:
        raise CommandLine(f"--fail-if '{text}': expected METRIC < LIMIT or METRIC > LIMIT, such as 'iops < -2%' or 'lat_p99_us > 200us'")
    key, side, value, unit = match.groups()
    metrics.check(key, f"--fail-if '{text}'")
    if unit == "%":
        return limits.Limit(key, -1 if side == "<" else 1, float(value), True, band)
    known = _UNITS.get(metrics.BY_KEY[key].unit, {"": 1})
    if unit not in known:
        raise CommandLine(f"--fail-if '{text}': {unit}: not a unit of {key}; accepted: % for a change, {', '.join(u for u in known if u) or 'a bare number'}")
    return limits.Limit(key, -1 if side == "<" else 1, float(value) * known[unit], False, band)


def hold(result, stored=None):
    """Put result["gate"] into RESULT, a digest of STORED, where its study was run with --fail-if."""
    texts = result["study"].get("fail_if")
    if texts:
        found = parse(texts, result["study"].get("dead_band", limits.BAND))
        each = _pairs(result, stored, found) if "ab" in result else _arms(result, found)
        result["gate"] = _told(result, found, each)


def hold_sessions(result, texts, band, sides):
    """The same for a comparison of results: SIDES(metric) is {arm: (figures before, figures after)}, a figure a session."""
    found = parse(texts, band)
    each = []
    for one in found:
        known = sides(one.key)
        figures = {(arm, side): dict(enumerate(values)) for arm, both in known.items() for side, values in zip("12", both)}
        level = limits.each_level(grid.LEVEL, len(found))
        model = grid.judge(figures, [((arm, "2"), (arm, "1")) for arm in known], level, rounds=False)
        each.append({})
        for arm, (before, after) in known.items():
            change = model.changes.get(((arm, "2"), (arm, "1")))
            if one.relative:
                each[-1][arm] = _enough(limits.hold(one, change, level, change.n)) if change else None
            else:
                each[-1][arm] = _enough(limits.itself(one, after, limits.each_level(level, len(known))))
    result["gate"] = _told(result, found, each, "sessions on each side")


def _enough(held):
    return held if held.n >= FEWEST else limits.Held(limits.OPEN, held.estimate, held.low, held.high, 0.0, held.wanted, held.n)


def _pairs(result, stored, found):
    """[{arm: Held}] of each limit in FOUND."""
    left = set(result["verdict"]["left_out"])
    a, b = ([run for n, run in enumerate(stored.of_arm(arm["name"]), 1) if n not in left] for arm in result["arms"])
    level, out = limits.each_level(result["ab"]["level"], len(found)), []
    for one in found:
        values = [[run.metrics.get(one.key) for run in runs] for runs in (a, b)]
        known = a and b and None not in values[0] + values[1] and not result["verdict"].get("no_measurement")
        out.append({"B": limits.of_pairs(one, *values, level) if known else None})
    return out


def _arms(result, found):
    level, out = limits.each_level(grid.LEVEL, len(found)), []
    compared = {a["name"]: a["against"] for a in result["arms"] if a["name"] != a["against"]}
    for one in found:
        figures = judged.figures(result, one.key)
        measured = [a["name"] for a in result["arms"] if shape.measured(result, a)]
        if one.relative:
            model = grid.judge({n: v for n, v in figures.items() if n in measured}, compared.items(), level)
            changes = {arm: model.changes.get((arm, base)) for arm, base in compared.items()}
            out.append({arm: _enough(limits.hold(one, c, level, c.n)) if c else None for arm, c in changes.items()})
        else:
            each = limits.each_level(level, len(result["arms"]))
            out.append({a["name"]: _enough(limits.itself(one, list(figures[a["name"]].values()), each)) if figures.get(a["name"]) else None
                        for a in result["arms"]})
    return out


def _told(result, found, each, what="runs of each arm"):
    """What result["gate"] is: the exit status, the conditions with every arm's interval, a sentence a condition."""
    conditions = []
    for text, one, arms in zip(_texts(found), found, each):
        verdict = limits.together(held.verdict if held else limits.OPEN for held in arms.values()) if arms else limits.OPEN
        conditions.append({"condition": text, "metric": one.key, "dead_band": one.band, "verdict": _WORDS[verdict],
                           "sentence": _sentence(result, text, one, arms, verdict, what),
                           "arms": {arm: {**{k: v for k, v in vars(held).items() if k != "verdict"}, "verdict": _WORDS[held.verdict]} if held else None
                                    for arm, held in arms.items()}})
    verdicts = {word: v for v, word in _WORDS.items()}
    status = _STATUS[limits.together(verdicts[c["verdict"]] for c in conditions)]
    return {"status": status, "conditions": conditions, "sentences": [c["sentence"] for c in conditions]}


def _texts(found):
    for one in found:
        metric = metrics.BY_KEY[one.key]
        limit = f"{one.limit:+g} %" if one.relative else _figure(one.limit, metric)
        yield f"{one.key} {'<' if one.side < 0 else '>'} {limit}"


def _figure(value, metric):
    unit = "" if metric.unit in ("1/s", "") or units.in_cell(metric.unit) else f" {metric.unit}"
    return units.quantity(value, metric.unit) + unit


def _sentence(result, text, limit, arms, verdict, what):
    """'--fail-if iops < -3 %: regression: B -5.1 % (97.5 % CI -6.0 % to -4.2 %)'."""
    start = f"--fail-if {text}: "
    if result.get("verdict", {}).get("no_measurement"):
        return f"{start}inconclusive, {guest_arm.NO_MEASUREMENT}"
    these = {arm: held for arm, held in arms.items() if (held.verdict if held else limits.OPEN) == verdict}
    named = ", ".join(f"{arm} {_interval(held, limit)}" if held else f"{arm} has no figure" for arm, held in list(these.items())[:_FEW])
    more = f", and {len(these) - _FEW} more" if len(these) > _FEW else ""
    if verdict == limits.PASSED:
        return f"{start}regression: {named}{more}"
    if verdict == limits.KEPT:
        return f"{start}no regression{': ' + named if len(arms) <= _FEW else f' in {len(arms)} arms'}"
    few = [held.n for held in these.values() if held and held.level < held.wanted]
    why = f"; {min(few)} {what} are too few" if few else "; the interval reaches beyond the limit and the dead band: more runs would tell" if these else ""
    return f"{start}inconclusive{': ' + named if named else ''}{more}{why}"


class _Change:
    def __init__(self, held):
        self.kind, self.estimate, self.low, self.high = "ratio", held.estimate, held.low, held.high


def _interval(held, limit):
    level = f"{100 * held.wanted:.4g} % CI"
    if limit.relative:
        return f"{words.change(_Change(held))} ({level} {words.interval(_Change(held))})"
    metric = metrics.BY_KEY[limit.key]
    return f"{_figure(held.estimate, metric)} ({level} {_figure(held.low, metric)} to {_figure(held.high, metric)})"


def medians(sessions):
    """A figure a session, of runs' figures; sessions without any are left out."""
    return [statistics.median(v.values()) for v in sessions if v]
