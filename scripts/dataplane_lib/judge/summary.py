# SPDX-License-Identifier: GPL-2.0-only
"""The result in plain words, computed from the figures and true for any of them.

All arms are judged together (arms.py): one differs from its baseline where its interval, corrected for how many are asked, leaves
out 0. Neighbours of the same verdict are told as one stretch.
"""

from itertools import groupby

from .. import units
from . import arms as judged, ordering, words
from ..model import metrics, shape

# More arms than this are told together, not in a sentence each.
_FEW = 4
# The effect that is paid for in CPU, so that its gain has a break-even.
_POLLING = "polling"
# A change in % beyond which its exact size helps nobody.
_HUGE = 200


def sentences(result):
    """A list of sentences; what traces say of stages comes last."""
    return _sentences(result) + ([] if "told" in result else result.get("stages", {}).get("sentences", []))


def _sentences(result):
    if "verdict" in result:
        return result["verdict"]["sentences"]
    if "told" in result:
        return result["told"]["sentences"]
    judged.judge(result)
    metric = metrics.BY_KEY[result["study"]["primary"]]
    x = shape.along(result)
    untold = [a for a in result["arms"] if not shape.measured(result, a)]
    bases = [a for a in result["arms"] if a["baseline"] and a not in untold]
    out = [f"No conclusion for {len(untold)} of {len(result['arms'])} arms: software emulation is not a measurement."] if untold else []
    lines = [(label, points) for label, arms in (shape.series(result) if x else ())
             if (points := [a for a in arms if not a["baseline"] and a not in untold])]
    found = [_named(label, _along(result, points, metric, x)) for label, points in lines]
    if not x:
        found = [text for a in bases for text in _group(result, a, metric)] + ordering.sentences(result)
    references, rest = [_baseline(a, metric) for a in bases], _costs(result, metric) + judged.again(result) + _power(result, metric)
    if len(lines) > _FEW or (len(bases) > 1 and len(found) > _FEW):
        return out + _overview(result, metric) + rest + found + references
    return out + (references + found + rest if len(bases) < 2 else found + rest + references)


def _named(label, text):
    """TEXT about the series LABEL; it stands alone where there is one series."""
    return f"{label}: {text}" if label else text[0].upper() + text[1:]


def _overview(result, metric):
    """How many arms are better and worse, and which are the furthest: what many series and baselines come to."""
    arms = [a for a in result["arms"] if judged.found(a, metric.key)]
    by = {which: [a for a in arms if verdict(a, metric) == which] for which in (1, -1, 0)}
    counts = [f"{len(by[which])} {_word(which, by[which], metric)}" for which in by if by[which]]
    out = [f"{metric.label} of {len(arms)} arms against their baselines: {', '.join(counts)}."] if arms else []
    for which, title in ((1, "Largest gain"), (-1, "Largest loss")):
        if by[which]:
            arm = max(by[which], key=lambda a: abs(a["change"].get(metric.key) or 0))
            out.append(f"{title}: {shape.full(arm['values'])} with {units.rounded(arm['change'].get(metric.key))} {metric.label}"
                       f"{_price(arm, shape.base(result, arm))}.")
    return out


def verdict(arm, metric):
    """+1 better than the baseline, -1 worse, 0 no difference found."""
    change = judged.found(arm, metric.key)
    return change.direction * (metric.better or 1) if change else 0


def _word(which, arms, metric):
    """A verdict on a stretch of ARMS in words; that there is no difference is more than two runs know."""
    if which:
        return "better" if which > 0 else "worse"
    fewest = min((c.n for c in (judged.found(a, metric.key) for a in arms) if c), default=0)
    return f"inconclusive with {units.counted(fewest, 'run')}" if fewest < 3 else words.NO_DIFFERENCE


def _intervals(arms, metric):
    """'95 % CI -1.2 % to +0.9 %': what all intervals of ARMS together hold."""
    found = [c for c in (judged.found(a, metric.key) for a in arms) if c and c.n > 1]
    if not found:
        return ""
    widest = max(found, key=lambda c: c.high - c.low)
    low, high = min(c.low for c in found), max(c.high for c in found)
    return words.confidence(judged.Span(widest.kind, widest.estimate, low, high))


def _left_out(result):
    """' (3 of 51 left out: …)': the runs that were not judged; empty where all were."""
    left = sum(result["grid"]["left_out"].values())
    return f" ({left} of {len(result['runs'])} left out, as the distance between the CPUs was not the usual one)" if left else ""


def _had(result, arms, metric):
    """'2 to 3 runs per arm': how many of ARMS, and of what they are compared with, were judged."""
    known = judged.figures(result, metric.key)
    n = [len(known.get(name) or ()) for arm in arms for name in (arm["name"], arm["against"])]
    return f"{units.counted(n[0], 'run') if min(n) == max(n) else f'{min(n)} to {max(n)} runs'} per arm"


def _power(result, metric):
    """The smallest change that so many runs could have found; nothing where every arm differs."""
    known = result["grid"]["smallest"]
    open_ = [a for a in result["arms"] if (c := judged.found(a, metric.key)) and not c.direction]
    if not open_:
        return []
    had = f"With {_had(result, open_, metric)}{_left_out(result)}"
    if known is None:
        return [f"{had} every change is inconclusive. Use --repeats 5."]
    if result["grid"]["kind"] != "ratio":
        size = _figure(known, metric)
    elif known >= _HUGE:
        return [f"{had} no change below {_HUGE} % is found reliably. Use --repeats 5."]
    else:
        size = units.rounded(known).removeprefix("+")
    return [f"{had} a change of {size} in {metric.label} is found 4 times in 5; smaller ones need more --repeats."]


def _costs(result, metric):
    """What arms that are better pay for it in their tails, and in fairness between jobs."""
    out = []
    for arm in result["arms"]:
        paid = judged.costs(arm) if verdict(arm, metric) > 0 else []
        if paid:
            out.append((arm, [(metrics.BY_KEY[key], shape.value(arm, key), shape.value(shape.base(result, arm), key)) for key, _ in paid]))
    if not out:
        return []
    told = [f"{shape.differs(result, arm)}: " + ", ".join(_cost(*each) for each in paid) for arm, paid in out[:_FEW]]
    more = f"; and {len(out) - _FEW} more" if len(out) > _FEW else ""
    return [f"Better {metric.label}, but: {'; '.join(told)}{more}."]


def _cost(metric, value, base):
    """'lat p99.99 9 × (8.9 to 80 ms)', 'fastest job 2.6 × the slowest (was 1.1 ×)'."""
    if metric.key == "job_spread":
        return f"fastest job {units.times(value)} the slowest (was {units.times(base)})"
    return f"{metric.label} {units.times(value / base)} ({_figure(base, metric)} to {_figure(value, metric)})"


def _baseline(base, metric):
    entry = base["metrics"].get(metric.key)
    if entry is None:
        return f"Baseline {shape.full(base['values'])}: no figure for {metric.label}, so nothing is compared with it."
    text = (f"Baseline {shape.full(base['values'])}: {_figure(entry['value'], metric)} {metric.label}")
    if base["runs"] > 1 and entry["value"]:
        text += (f" ({_figure(entry['min'], metric)} to {_figure(entry['max'], metric)}"
                 f" over {base['runs']} runs)")
    cpu = shape.value(base, "target_cpu")
    return text + (f", target CPU {cpu:.0f} %." if cpu is not None else ".")


def _figure(value, metric):
    """'34.0k', '677 ns', '8.80 MiB/s': with its unit, unless that is in the metric's name."""
    unit = "" if metric.unit in ("1/s", "") or units.in_cell(metric.unit) else f" {metric.unit}"
    return units.quantity(value, metric.unit) + unit


def _range(arms, key):
    """'+1.0 % to +3.2 %', or one figure."""
    found = [a["change"][key] for a in arms if a["change"].get(key) is not None]
    if not found:
        return "no figure"
    low, high = units.rounded(min(found)), units.rounded(max(found))
    return low if low == high else f"{low} to {high}"


def _stretch(arms, x):
    """'1', or '1 to 4096'."""
    first, last = arms[0]["values"][x], arms[-1]["values"][x]
    return first if first == last else f"{first} to {last}"


def _price(arm, base):
    """' at 69 % CPU (was 42 %), 12 % less CPU per I/O'; empty without CPU figures."""
    return words.price(shape.value(arm, "target_cpu"), shape.value(base, "target_cpu"),
                       shape.value(arm, "target_us_per_io"), shape.value(base, "target_us_per_io"))


def _along(result, points, metric, x):
    """What happens as X grows."""
    parts = [(v, list(g)) for v, g in groupby(points, key=lambda a: verdict(a, metric))]
    polls = result["study"].get("effect") == _POLLING
    if len(parts) == 1:
        return _flat(result, parts[0], metric, x, polls)
    told = [f"{x} {_stretch(arms, x)}: {_word(v, arms, metric)} ({_range(arms, metric.key)})" for v, arms in parts]
    paying = [a for v, arms in parts if v > 0 for a in arms]
    high = parts[-1][1]
    if paying and paying == high:
        at = f"{x}={high[0]['values'][x]}"
        text = (f"{f'break-even at {at}' if polls else f'better from {at} on'}: "
                f"{units.rounded(high[0]['change'][metric.key])} {metric.label}{_price(high[0], shape.base(result, high[0]))}")
        if len(high) > 1:
            text += f"; from there on {_range(high, metric.key)}"
        return text + f". Below that, {'; '.join(told[:-1])}."
    text = f"no single step up. {'; '.join(told)}"
    if paying:
        best = max(paying, key=lambda a: units.tidy(a["change"][metric.key]) * (metric.better or 1))
        text += (f". Best at {x}={best['values'][x]}: "
                 f"{units.rounded(best['change'][metric.key])}{_price(best, shape.base(result, best))}")
    return text + "."


def _flat(result, part, metric, x, polls):
    """One verdict for every point."""
    which, arms = part
    stretch = f"{x} {_stretch(arms, x)}"
    base = shape.base(result, first := arms[0])
    if which == 0:
        span = _intervals(arms, metric)
        return (f"{_word(0, arms, metric)} in {metric.label} over {stretch}: {_range(arms, metric.key)}" + (f" ({span})" if span else "") + ".")
    if which < 0:
        return f"{'polling never pays' if polls else 'worse at every value tried'}: {_range(arms, metric.key)} {metric.label} over {stretch}."
    return (f"{'polling pays' if polls else 'better'} at every value tried ({stretch}): {_range(arms, metric.key)} {metric.label}; "
            f"{x}={first['values'][x]} gives {units.rounded(first['change'][metric.key])}"
            f"{_price(first, base)}.")


def _group(result, base, metric):
    """The arms that are compared with BASE and lie on no axis, in as many sentences as there are verdicts."""
    arms = [a for a in result["arms"] if a["against"] == base["name"] and a is not base and shape.measured(result, a)]
    if len(arms) <= _FEW:
        return [_single(result, a, base, metric) for a in arms]
    out = []
    for which in (1, -1, 0):
        found = [a for a in arms if verdict(a, metric) == which]
        told = [f"{shape.differs(result, a)} {units.rounded(a['change'].get(metric.key))}" for a in found]
        if told:
            word = _word(which, found, metric)
            span = _intervals(found, metric) if not which else ""
            out.append(f"{word[0].upper()}{word[1:]}{f' ({span})' if span else ''}: {'; '.join(told)}.")
    return out


def _single(result, arm, base, metric):
    """An arm that lies on no axis."""
    change, name = judged.found(arm, metric.key), shape.differs(result, arm)
    if change is None:
        return f"{name}: no figure for {metric.label}."
    text = words.arm(change, unit=metric.unit, better=metric.better)
    return f"{name}: {text} {metric.label}{_price(arm, base) if change.direction else ''}."
