# SPDX-License-Identifier: GPL-2.0-only
"""The result in plain words, computed from the figures and true for any of them.

A point counts as different from the baseline when its median is at least
STEP % away, or what few.py wants of few runs, and no run of it lies within the
baseline's range; arms that lie on no axis and have runs enough are tested.
Neighbours of the same verdict are told as one stretch.
"""

from itertools import groupby

from .. import units
from . import ordering
from ..model import metrics, shape
from ..stats import few, rounds

STEP = 5.0
# More arms than this are told together, not in a sentence each.
_FEW = 4
_WORDS = {1: "better", 0: "no clear difference", -1: "worse"}


def sentences(result):
    """A list of sentences."""
    if "verdict" in result:
        return result["verdict"]["sentences"]
    if "told" in result:
        return result["told"]["sentences"]
    metric = metrics.BY_KEY[result["study"]["primary"]]
    x = shape.along(result)
    untold = [a for a in result["arms"] if not shape.measured(result, a)]
    bases = [a for a in result["arms"] if a["baseline"] and a not in untold]
    out = [f"Nothing is said of {len(untold)} of {len(result['arms'])} arms, which are no measurement."] if untold else []
    if not x:
        return out + [text for a in bases
                      for text in [_baseline(a, metric), *_group(result, a, metric)]] + ordering.sentences(result)
    out += [_baseline(a, metric) for a in bases]
    for label, arms in shape.series(result):
        points = [a for a in arms if not a["baseline"] and a not in untold]
        if points:
            out.append((f"{label}: " if label else "") + _along(result, points, metric, x))
    return out


def _runs(arm, base):
    """How many runs a comparison of the two rests on."""
    return min(arm["runs"], base["runs"])


def _word(which, arm, base):
    """A verdict in words; that there is no difference is more than few runs know."""
    runs = _runs(arm, base)
    return _WORDS[which] if which or not few.runs(runs) else few.untold(runs)


def verdict(arm, base, metric):
    """+1 better than the baseline, -1 worse, 0 not told apart."""
    change = arm["change"].get(metric.key)
    if change is None or abs(change) < STEP:
        return 0
    if few.runs(_runs(arm, base)) and not few.obvious(change):
        return 0
    mine, other = arm["metrics"][metric.key], base["metrics"][metric.key]
    if mine["min"] <= other["max"] and mine["max"] >= other["min"]:
        return 0
    direction = 1 if change > 0 else -1
    return direction * (metric.better or 1)


def _baseline(base, metric):
    entry = base["metrics"].get(metric.key)
    if entry is None:
        return f"Baseline {shape.full(base['values'])}: no figure for {metric.label}, so nothing is compared with it."
    text = (f"Baseline {shape.full(base['values'])}: {units.short(entry['value'])} {metric.label}")
    if base["runs"] > 1 and entry["value"]:
        text += (f" ({units.short(entry['min'])} to {units.short(entry['max'])}"
                 f" over {base['runs']} runs)")
    cpu = shape.value(base, "target_cpu")
    return text + (f", target CPU {cpu:.0f} %." if cpu is not None else ".")


def _range(arms, key):
    """'+1.0% to +3.2%', or one figure."""
    found = [a["change"][key] for a in arms if a["change"].get(key) is not None]
    if not found:
        return "no figure"
    low, high = units.percent(min(found)), units.percent(max(found))
    return low if low == high else f"{low} to {high}"


def _stretch(arms, x):
    """'1', or '1 to 4096'."""
    first, last = arms[0]["values"][x], arms[-1]["values"][x]
    return first if first == last else f"{first} to {last}"


def _price(arm, base):
    """' for 2.1 x the target's CPU (48 % to 100 %)', empty without CPU figures."""
    mine, other = shape.value(arm, "target_cpu"), shape.value(base, "target_cpu")
    if mine is None or not other:
        return ""
    text = f" for {mine / other:.2g} x the target's CPU ({other:.0f} % to {mine:.0f} %)"
    a, b = shape.value(arm, "target_us_per_io"), shape.value(base, "target_us_per_io")
    return text + (f", {a / b:.2g} x per I/O" if a is not None and b else "")


def _along(result, points, metric, x):
    """What happens as X grows."""
    parts = [(v, list(g)) for v, g in groupby(
        points, key=lambda a: verdict(a, shape.base(result, a), metric))]
    what = result["study"].get("effect")
    if len(parts) == 1:
        return _flat(result, parts[0], metric, x, what)
    told = [f"{x} {_stretch(arms, x)}: {_word(v, arms[0], shape.base(result, arms[0]))} ({_range(arms, metric.key)})"
            for v, arms in parts]
    paying = [a for v, arms in parts if v > 0 for a in arms]
    high = parts[-1][1]
    if paying and paying == high:
        start = f"{what} starts to pay at" if what else "better from"
        text = (f"{start} {x}={high[0]['values'][x]}{'' if what else ' on'}: "
                f"{units.percent(high[0]['change'][metric.key])} {metric.label}{_price(high[0], shape.base(result, high[0]))}")
        if len(high) > 1:
            text += f"; from there on {_range(high, metric.key)}"
        return text + f". Below that, {'; '.join(told[:-1])}."
    text = f"no single step up. {'; '.join(told)}"
    if paying:
        best = max(paying, key=lambda a: a["change"][metric.key] * (metric.better or 1))
        text += (f". Best at {x}={best['values'][x]}: "
                 f"{units.percent(best['change'][metric.key])}{_price(best, shape.base(result, best))}")
    return text + "."


def _flat(result, part, metric, x, what):
    """One verdict for every point."""
    which, arms = part
    stretch = f"{x} {_stretch(arms, x)}"
    base = shape.base(result, first := arms[0])
    if which == 0:
        why = (f"which {_word(0, first, base)} unless over {few.OBVIOUS:g} % and outside the baseline's range" if few.runs(_runs(first, base))
               else f"which cannot be told from noise or is under {STEP:g} %")
        return f"no step seen: over {stretch} {metric.label} differs from the baseline by {_range(arms, metric.key)}, {why}."
    if which < 0:
        return f"{what + ' never pays' if what else 'worse at every value tried'}: {_range(arms, metric.key)} {metric.label} over {stretch}."
    return (f"{what + ' pays' if what else 'better'} at every value tried ({stretch}): {_range(arms, metric.key)} {metric.label}; "
            f"{x}={first['values'][x]} gives {units.percent(first['change'][metric.key])}"
            f"{_price(first, base)}.")


def _group(result, base, metric):
    """The arms that are compared with BASE and lie on no axis, in as many sentences as there are verdicts."""
    arms = [a for a in result["arms"] if a["against"] == base["name"] and a is not base and shape.measured(result, a)]
    tested = _tested(result, arms, base, metric)
    verdicts = tested or {a["name"]: verdict(a, base, metric) for a in arms}
    if len(arms) <= _FEW:
        return [_single(result, a, base, metric, verdicts[a["name"]]) for a in arms]
    out = []
    for which in (1, -1, 0):
        found = [a for a in arms if verdicts[a["name"]] == which]
        told = [f"{shape.differs(result, a)} {units.percent(a['change'].get(metric.key))}" for a in found]
        if told:
            how = f", {len(arms)} arms being looked at together" if tested else ""
            word = _word(which, found[0], base)
            out.append(f"{word[0].upper()}{word[1:]} against that{how}: {'; '.join(told)}.")
    return out


def _tested(result, arms, base, metric):
    """{name: verdict} by a test of the runs of the same round, corrected for how many arms there are; None with too few runs."""
    from ..stats import ranks  # scipy takes a while
    both = {a["name"]: rounds.pairs(result, base, a, metric.key) for a in arms if "runs" in result}
    if not both or any(len(x) < ranks.FEWEST_PAIRS for x, _ in both.values()):
        return None
    found = {name: ranks.paired(*figures) for name, figures in both.items()}
    # Of so many arms with so few rounds none could be told, however its runs came out.
    if max(ranks.holm([f.least for f in found.values()])) > 1 - ranks.LEVEL:
        return None
    ps = ranks.holm([f.p for f in found.values()])
    better = metric.better or 1
    return {name: (1 if f.estimate * better > 0 else -1) if f.resolved and p <= 1 - ranks.LEVEL else 0
            for (name, f), p in zip(found.items(), ps)}


def _single(result, arm, base, metric, which):
    """An arm that lies on no axis."""
    return (f"{shape.differs(result, arm)}: {_word(which, arm, base)}, "
            f"{units.percent(arm['change'].get(metric.key))} {metric.label}"
            f"{_price(arm, base) if which else ''}.")
