# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of a result: the primary metric and what it costs in CPU, what a comparison found, and every run in its order."""

import math
import statistics
from html import escape

from .. import units
from ..model import guest_arm, metrics, shape
from . import picture, stage_bars, verdict_table
from .picture import CHARS, INK, MUTED, WIDTH, Tips, colour

_DASHES = ("--", ":", "-.")


def draw(result, svg, png):
    """Write the picture to both paths; returns all that the page has, as Pictures."""
    pyplot = picture.pyplot()
    title = result["study"]["title"] or result["study"]["name"]

    def keep(figure, text):
        svg.write_text(text, encoding="utf-8")
        # The page has the title above the picture already; the PNG goes about alone.
        figure.suptitle(picture.shortened(title, 76), fontsize=11)
        figure.savefig(png, dpi=130)

    out = [drawn(pyplot, *_main(result), result, "main", keep)]
    if stage_bars.shown(result):
        out.append(drawn(pyplot, stage_bars.CAPTION, stage_bars.draw, result, "stages", stage_bars.keep(svg.parent, title)))
    if _changes(result):
        # What was found comes first.
        out.insert(0, drawn(pyplot, "What was found: the changes with their intervals. Grey: no significant difference, or inconclusive.", _verdicts, result, "verdict"))
    if _in_order(result):
        out.append(drawn(pyplot, "Every run in the order it was made, against the median of its arm: a drift, a jump or a second mode "
                         "would show here. Hollow: marked with !.", _order, result, "order"))
    return out


def drawn(pyplot, caption, function, data, name, keep=None):
    """The picture that FUNCTION(DATA, pyplot) draws. KEEP(figure, SVG text) gets it as a file has it."""
    figure, tips = function(data, pyplot)
    text = picture.svg(figure, tips, name)
    if keep:
        keep(figure, text)
    pyplot.close(figure)
    return picture.Picture(caption, picture.inline(text, escape(caption)))


def _main(result):
    """(caption, function) of the picture that the study is about."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    # Arms that are judged in pairs have no grid.
    middle = "mean" if result.get("grid", {}).get("kind") == "ratio" else "median"
    bars = f"{metric.label}: the {middle} of the runs, bars from the lowest run to the highest"
    grey = "; grey: the baseline's range" if shape.outside(result) else ""
    return ((f"{bars}{grey}.", _upright) if shape.along(result) else
            (f"{bars}; shaded: the baseline's range. Right: CPU per I/O.", _lying))


def _told(arm, key):
    """An arm in words, for its point."""
    metric, entry = metrics.BY_KEY[key], arm["metrics"].get(key)
    lines = [arm["name"]]
    if entry:
        value, low, high = (units.quantity(entry[k], metric.unit) for k in ("value", "min", "max"))
        lines.append(f"{metric.label} {value} ({low} to {high}, {arm['runs']} runs)")
    if not arm["baseline"] and arm["change"].get(key) is not None:
        lines.append(f"{units.percent(arm['change'][key])} against {arm['against']}")
    if shape.value(arm, "target_cpu") is not None:
        lines.append(f"target CPU {shape.value(arm, 'target_user'):.0f} % user, {shape.value(arm, 'target_system'):.0f} % system")
    if arm.get("no_measurement"):
        lines.append(f"{guest_arm.NO_MEASUREMENT}: {arm['no_measurement']}")
    if arm["marked"]:
        lines.append(f"{arm['marked']} of its runs are marked !")
    return "\n".join(lines)


def _upright(result, pyplot):
    """The primary metric over the target's CPU, what is varied along x."""
    cpu = any(shape.value(a, "target_cpu") is not None for a in result["arms"])
    places, labels, name = _places(result)
    tips = Tips()
    keys = _keys(result)
    height = 6.0 if cpu else 3.8
    figure, axes = pyplot.subplots(2 if cpu else 1, 1, sharex=True, squeeze=False, figsize=(WIDTH, height + 0.2 * keys),
                                   height_ratios=(3, 2) if cpu else (1,), layout="constrained")
    _metric(axes[0][0], result, places, tips)
    if cpu:
        _cpu(axes[1][0], result, places, tips)
    last = axes[-1][0]
    crowded = _crowded(labels, CHARS)
    last.set_xticks(list(labels), [picture.shortened(t, 24) for t in labels.values()], rotation=45 if crowded else 0,
                    ha="right" if crowded else "center", rotation_mode="anchor")
    last.set_xlabel(name)
    return figure, tips


def _lying(result, pyplot):
    """A line an arm, workload by workload: the primary metric, and the CPU of both sides per I/O."""
    bases = [a for a in result["arms"] if a["baseline"]]
    groups = [[b, *(a for a in result["arms"] if a["against"] == b["name"] and a is not b)] for b in bases]
    apart = [k for k in bases[0]["values"] if any(b["values"].get(k) != bases[0]["values"][k] for b in bases)]
    # An arm's name stands above its line, or it would take the room of it.
    step = 0.42
    heights = [len(g) + 0.8 for g in groups]
    priced = any(shape.value(a, k) is not None for a in result["arms"] for k in ("target_us_per_io", "fio_us_per_io"))
    figure, axes = pyplot.subplots(len(groups), 1 + priced, squeeze=False, sharex="col", layout="constrained",
                                   figsize=(WIDTH, 1.0 + step * sum(heights)), height_ratios=heights,
                                   **({"width_ratios": (3, 2)} if priced else {}))
    tips = Tips()
    for row, arms in zip(axes, groups):
        row[0].set_title(picture.shortened(shape.workload(result, arms[0]), CHARS // 2), loc="left")
        _lines(row[0], result, arms, [_named(shape.differs(result, a, apart), [a]) for a in arms], tips)
        if priced:
            _price(row[1], arms, tips)
    axes[-1][0].set_xlabel(_unit(metrics.BY_KEY[result["study"]["primary"]]))
    for axis in axes[-1]:
        axis.locator_params(axis="x", nbins=5)
    if priced:
        axes[-1][1].set_xlabel("CPU per I/O, µs\ntarget dark, fio light")
    return figure, tips


def _unit(metric):
    unit = metric.unit.replace("us", "µs")
    return f"{metric.label}{', ' + unit if unit not in ('', '1/s') else ''}"


def _lines(axis, result, arms, names, tips):
    """Medians with bars from the lowest run to the highest; the baseline's range is shaded."""
    key = result["study"]["primary"]
    for i, arm in enumerate(arms):
        entry = arm["metrics"].get(key)
        if not entry:
            continue
        bars = axis.errorbar([entry["value"]], [i], color=colour(0 if arm["baseline"] else 1), marker="o", markersize=5, capsize=3,
                             xerr=[[max(0, entry["value"] - entry["min"])], [max(0, entry["max"] - entry["value"])]])
        tips.add(bars.lines[0], [_told(arm, key)])
    entry = arms[0]["metrics"].get(key)
    if entry:
        axis.axvspan(entry["min"], entry["max"], color=MUTED, alpha=0.15, linewidth=0)
    _rows(axis, names)
    axis.xaxis.set_major_formatter(_thousands)


def _rows(axis, names):
    """NAMES above their rows."""
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks([])
    for i, name in enumerate(names):
        axis.text(0.012, i - 0.24, picture.shortened(name, 48), transform=axis.get_yaxis_transform(), va="bottom")


def _price(axis, arms, tips):
    """The target's CPU per I/O and fio's, one behind the other."""
    target = [shape.value(a, "target_us_per_io") or 0 for a in arms]
    fio = [shape.value(a, "fio_us_per_io") or 0 for a in arms]
    for bars, alpha in ((axis.barh(range(len(arms)), target, 0.55), 1), (axis.barh(range(len(arms)), fio, 0.55, left=target), 0.35)):
        for bar, arm, a, b in zip(bars, arms, target, fio):
            bar.set(color=colour(0), alpha=alpha)
            tips.add(bar, [f"{arm['name']}\nCPU per I/O: target {units.time(1000 * a)}, fio {units.time(1000 * b)}"])
    axis.set_yticks([])
    axis.set_ylim(len(arms) - 0.4, -0.6)


def _thousands(value, _place):
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def _crowded(labels, chars):
    """True where neighbouring tick labels would touch, at CHARS characters across."""
    xs = sorted(labels)
    room = 0.9 * chars / ((xs[-1] - xs[0]) or 1)
    return any(len(labels[a]) / 2 + len(labels[b]) / 2 + 1 > (b - a) * room
               for a, b in zip(xs, xs[1:]))


def _places(result):
    """({arm name: x}, {x: tick label}, axis label).

    Positive numbers that span more than 16 lie on a log2 axis, 0 one step to
    the left of the smallest; others are spaced evenly.
    """
    x = shape.along(result)
    lines = shape.series(result)
    texts = sorted(result["study"]["factors"][x], key=units.number)
    values = [units.number(t) for t in texts]
    positive = [v for v in values if v > 0]
    if positive and max(positive) >= 16 * min(positive):
        where = {t: math.log2(v) if v > 0 else math.log2(min(positive)) - 1
                 for t, v in zip(texts, values)}
    else:
        where = {t: i for i, t in enumerate(texts)}
    places = {a["name"]: where[a["values"][x]] for _, line in lines for a in line}
    unit = ", ns" if x.endswith("-ns") else ""
    return places, {where[t]: t for t in texts}, x + unit


def _metric(axis, result, places, tips):
    """Medians joined by a line, bars from the lowest run to the highest."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    for i, (label, line) in enumerate(shape.series(result)):
        line = [a for a in line if metric.key in a["metrics"]]
        xs = [places[a["name"]] + 0.06 * i for a in line]
        entries = [a["metrics"][metric.key] for a in line]
        ys = [e["value"] for e in entries]
        # A value from merged bins may lie outside the range of the repeats.
        bars = [[max(0, y - e["min"]) for y, e in zip(ys, entries)],
                [max(0, e["max"] - y) for y, e in zip(ys, entries)]]
        drawn = axis.errorbar(xs, ys, yerr=bars, label=_named(_key(label or metric.label), line), color=colour(i),
                              marker=picture.mark(i), markersize=5, capsize=3, linestyle="-")
        tips.add(drawn.lines[0], [_told(a, metric.key) for a in line])
    for i, base in enumerate(shape.outside(result)):
        entry = base["metrics"].get(metric.key)
        if not entry:
            continue
        axis.axhspan(entry["min"], entry["max"], color=MUTED, alpha=0.15, linewidth=0)
        axis.axhline(entry["value"], color=MUTED, linestyle=_DASHES[i % len(_DASHES)],
                     label=_key(f"baseline {shape.label(base['values'])}"))
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(_thousands)
    axis.set_ylabel(_unit(metric))
    legend(axis)


def _named(label, arms):
    """LABEL, and that it is nothing measured where that is so of any of ARMS."""
    return f"{label} ({guest_arm.NO_MEASUREMENT})" if any(a.get("no_measurement") for a in arms) else label


def _key(text):
    return picture.shortened(text, 44)


def _keys(result):
    """Lines that the legend may take beyond three."""
    texts = [label for label, _ in shape.series(result)]
    columns = _columns(len(texts), max((len(_key(t)) for t in texts), default=0))
    return max(0, math.ceil(len(texts) / columns) - 3)


def _columns(number, longest):
    return max(1, min(number, CHARS // (longest + 9)))


def legend(axis):
    """Above the axes, as many columns as its words leave room for."""
    handles, labels = axis.get_legend_handles_labels()
    if labels:
        axis.legend(handles, labels, ncols=_columns(len(labels), max(map(len, labels))),
                    loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, borderpad=0.2)


def _cpu(axis, result, places, tips):
    """User and system stacked, one bar a series at each x, in the colours above."""
    lines = shape.series(result)
    ticks = sorted(set(places.values()))
    step = min((b - a for a, b in zip(ticks, ticks[1:])), default=1)
    width = 0.8 * step / len(lines)
    for i, (_, line) in enumerate(lines):
        xs = [places[a["name"]] + (i - (len(lines) - 1) / 2) * width for a in line]
        user = [shape.value(a, "target_user") or 0 for a in line]
        system = [shape.value(a, "target_system") or 0 for a in line]
        for bars, alpha in ((axis.bar(xs, user, width * 0.92), 1), (axis.bar(xs, system, width * 0.92, bottom=user), 0.4)):
            for bar, arm in zip(bars, line):
                bar.set(color=colour(i), alpha=alpha)
                tips.add(bar, [_told(arm, result["study"]["primary"])])
    for i, base in enumerate(shape.outside(result)):
        if shape.value(base, "target_cpu") is not None:
            axis.axhline(shape.value(base, "target_cpu"), color=MUTED,
                         linestyle=_DASHES[i % len(_DASHES)])
    axis.set_ylim(bottom=0)
    axis.set_ylabel("target CPU, % of one\nstrong: user, pale: system")


def _changes(result):
    """[(name, line)] of what ab or compare found as a ratio."""
    found = result.get("verdict", {})
    if "arms" not in found:
        every = [(metrics.BY_KEY[line["metric"]].label, line) for line in found.get("lines", ())]
    elif len(found["arms"]) == 1:
        every = [(metrics.BY_KEY[line["metric"]].label, line) for line in found["arms"][0]["lines"]]
    else:
        every = [(arm["name"], arm["lines"][0]) for arm in found["arms"]]
    return [(name, line) for name, line in every if line["kind"] == "ratio"
            and all(math.isfinite(line[k]) for k in ("estimate", "low", "high"))]


def _verdicts(result, pyplot):
    """Estimates with their intervals, a row a metric or an arm."""
    rows = _changes(result)
    step = 0.42
    figure, axis = pyplot.subplots(figsize=(WIDTH, 0.9 + step * len(rows)), layout="constrained")
    tips = Tips()
    first, last = _edges(rows)
    for i, (name, line) in enumerate(rows):
        low, middle, high = (_ratio(line[k]) for k in ("low", "estimate", "high"))
        shown = [min(max(v, first), last) for v in (low, middle, high)]
        bars = axis.errorbar([shown[1]], [i], xerr=[[max(0, shown[1] - shown[0])], [max(0, shown[2] - shown[1])]], capsize=3, marker="o", markersize=5,
                             color=MUTED if line["word"] in verdict_table.NOTHING else colour(0))
        for value, end, key, side in ((low, shown[0], "low", "left"), (high, shown[2], "high", "right")):
            if value != end:
                axis.annotate(units.rounded(line[key]), (end, i), xytext=(0, -8), textcoords="offset points", ha=side, va="center", color=MUTED)
        tips.add(bars.lines[0], [f"{name}\n{units.quantity(line['a'], metrics.BY_KEY[line['metric']].unit)} to {units.quantity(line['b'], metrics.BY_KEY[line['metric']].unit)}\n{line['text']}"])
    axis.axvline(0, color=INK, linewidth=0.8)
    _rows(axis, [name for name, _ in rows])
    axis.set_xlim(first - 0.02 * (last - first), last + 0.02 * (last - first))
    ticks = _percents(first, last)
    axis.set_xticks([_ratio(t) for t in ticks], [f"{t:+g}" if t else "0" for t in ticks])
    axis.set_xlabel("change, % (on a ratio scale)")
    return figure, tips


# Changes beyond a ratio of so much are clipped, and numbered; and the least that the axis shows.
_MOST, _LEAST = math.log(4), math.log(1.02)


def _ratio(percent):
    """A change in % as the logarithm of its ratio, so that twice and half are as far from none."""
    return math.log1p(max(percent, -99.99) / 100)


def _edges(rows):
    """Where the axis begins and ends: around 0 and all intervals, unless they are huge."""
    every = [_ratio(line[k]) for _, line in rows for k in ("low", "estimate", "high")]
    return max(-_MOST, min(-_LEAST, *every)), min(_MOST, max(_LEAST, *every))


def _percents(first, last):
    """Ticks in % between FIRST and LAST, at most seven evenly apart; where the range is wide, those that have room."""
    low, high = (100 * math.expm1(v) for v in (first, last))
    for step in (1, 2, 5, 10, 20):
        if (high - low) / step < 7:
            return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [t for t in (-75, -50, -30, 0, 50, 100, 200, 300) if low <= t <= high]


def _in_order(result):
    """[(number, run, % of its arm's median)] in the order of time; empty where an arm has one run."""
    key = result["study"]["primary"]
    usual = {}
    for arm in result["arms"]:
        values = [r["metrics"].get(key) for r in result["runs"] if r["arm"] == arm["name"]]
        values = [v for v in values if v is not None]
        if len(values) < 2 or not statistics.median(values):
            return []
        usual[arm["name"]] = statistics.median(values)
    ordered = sorted(result["runs"], key=lambda r: r["directory"])
    return [(n, r, 100 * r["metrics"][key] / usual[r["arm"]]) for n, r in enumerate(ordered, 1) if r["metrics"].get(key) is not None]


def _order(result, pyplot):
    """Each run against its arm's median, along the order in which they were made."""
    key = result["study"]["primary"]
    metric, points = metrics.BY_KEY[key], _in_order(result)
    figure, axis = pyplot.subplots(figsize=(WIDTH, 2.8), layout="constrained")
    tips, names = Tips(), [a["name"] for a in result["arms"]]
    few = len(names) <= 4
    for i, name in enumerate(names if few else [None]):
        mine = [p for p in points if name in (None, p[1]["arm"])]
        label = name and _key(name)
        for marked in (False, True):
            some = [p for p in mine if bool(p[1]["marks"]) == marked]
            if not some:
                continue
            line, = axis.plot([n for n, _, _ in some], [y for _, _, y in some], linestyle="", color=colour(i), label=label,
                              marker=picture.mark(i), markersize=5, markerfacecolor="none" if marked else colour(i))
            label = None
            tips.add(line, ["\n".join([f"{r['arm']}, run {r['repeat']}", f"{metric.label} {units.quantity(r['metrics'][key], metric.unit)}, "
                                       f"{y:.1f} % of its arm's median", *r["marks"]]) for _, r, y in some])
    axis.axhline(100, color=MUTED, linewidth=0.8)
    axis.set_xlabel("runs in the order of time")
    axis.set_ylabel(f"{metric.label}, % of\nits arm's median")
    axis.xaxis.get_major_locator().set_params(integer=True)
    legend(axis)
    return figure, tips
