# SPDX-License-Identifier: GPL-2.0-only
"""The picture: the primary metric and what it costs in CPU, along the varied factor or arm by arm."""

import math

from . import guest_arm, metrics, shape, units

_COLOURS = ("#1f5fa8", "#d0662a", "#2f8f57", "#8a4fa0", "#7a6a2c", "#b03050")
_MARKS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("--", ":", "-.")


def draw(result, svg, png):
    """Write the picture to both paths. matplotlib is loaded only here."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "fio-dataplane", "font.size": 10, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e4e4",
        "axes.axisbelow": True, "legend.frameon": False})
    from matplotlib import pyplot

    figure = _upright(result, pyplot) if shape.along(result) else _lying(result, pyplot)
    # The page has the title above the SVG already; the PNG goes about alone.
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    figure.suptitle(result["study"]["title"] or result["study"]["name"], fontsize=12)
    figure.savefig(png, dpi=130)
    pyplot.close(figure)


def _upright(result, pyplot):
    """The primary metric over the target's CPU, what is varied along x."""
    cpu = any(shape.value(a, "target_cpu") is not None for a in result["arms"])
    figure, axes = pyplot.subplots(2 if cpu else 1, 1, sharex=True, squeeze=False,
                                   figsize=(10, 7.2 if cpu else 4.4),
                                   height_ratios=(3, 2) if cpu else (1,),
                                   layout="constrained")
    places, labels, name = _places(result)
    _metric(axes[0][0], result, places)
    if cpu:
        _cpu(axes[1][0], result, places)
    last = axes[-1][0]
    crowded = _crowded(labels)
    last.set_xticks(list(labels), list(labels.values()), rotation=45 if crowded else 0,
                    ha="right" if crowded else "center")
    last.set_xlabel(name)
    return figure


def _lying(result, pyplot):
    """A line an arm, workload by workload: the primary metric, and the CPU of both sides per I/O."""
    bases = [a for a in result["arms"] if a["baseline"]]
    groups = [[b, *(a for a in result["arms"] if a["against"] == b["name"] and a is not b)] for b in bases]
    apart = [k for k in bases[0]["values"] if any(b["values"].get(k) != bases[0]["values"][k] for b in bases)]
    heights = [len(g) + 0.8 for g in groups]
    figure, axes = pyplot.subplots(len(groups), 2, squeeze=False, sharex="col", layout="constrained",
                                   figsize=(10, 0.8 + 0.28 * sum(heights)), height_ratios=heights, width_ratios=(3, 2))
    for (left, right), arms in zip(axes, groups):
        left.set_title(shape.workload(result, arms[0]), loc="left", fontsize=10)
        _lines(left, result, arms, [_named(shape.differs(result, a, apart), [a]) for a in arms])
        _price(right, arms)
    axes[-1][0].set_xlabel(_unit(metrics.BY_KEY[result["study"]["primary"]]))
    axes[-1][1].set_xlabel("CPU us per I/O: target dark, fio light")
    return figure


def _unit(metric):
    return f"{metric.label}{', ' + metric.unit if metric.unit not in ('', '1/s') else ''}"


def _lines(axis, result, arms, names):
    """Medians with bars from the lowest run to the highest; the baseline's range is shaded."""
    key = result["study"]["primary"]
    for i, arm in enumerate(arms):
        entry = arm["metrics"][key]
        axis.errorbar([entry["value"]], [i], color=_COLOURS[0 if arm["baseline"] else 1], marker="o", markersize=5, capsize=3,
                      xerr=[[max(0, entry["value"] - entry["min"])], [max(0, entry["max"] - entry["value"])]])
    entry = arms[0]["metrics"][key]
    axis.axvspan(entry["min"], entry["max"], color="#555555", alpha=0.12, linewidth=0)
    axis.set_yticks(range(len(arms)), names)
    axis.set_ylim(len(arms) - 0.4, -0.6)
    axis.xaxis.set_major_formatter(_thousands)


def _price(axis, arms):
    """The target's CPU per I/O and fio's, one behind the other."""
    target = [shape.value(a, "target_us_per_io") or 0 for a in arms]
    fio = [shape.value(a, "fio_us_per_io") or 0 for a in arms]
    axis.barh(range(len(arms)), target, 0.7, color=_COLOURS[0])
    axis.barh(range(len(arms)), fio, 0.7, left=target, color=_COLOURS[0], alpha=0.35)
    axis.set_yticks([])
    axis.set_ylim(len(arms) - 0.4, -0.6)


def _thousands(value, _place):
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def _crowded(labels):
    """True where neighbouring tick labels would touch, at about 110 characters across."""
    xs = sorted(labels)
    room = 110 / ((xs[-1] - xs[0]) or 1)
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


def _metric(axis, result, places):
    """Medians joined by a line, bars from the lowest run to the highest."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    for i, (label, line) in enumerate(shape.series(result)):
        xs = [places[a["name"]] + 0.06 * i for a in line]
        entries = [a["metrics"][metric.key] for a in line]
        ys = [e["value"] for e in entries]
        # A value from merged bins may lie outside the range of the repeats.
        bars = [[max(0, y - e["min"]) for y, e in zip(ys, entries)],
                [max(0, e["max"] - y) for y, e in zip(ys, entries)]]
        axis.errorbar(xs, ys, yerr=bars, label=_named(label or metric.label, line), color=_COLOURS[i % len(_COLOURS)],
                      marker=_MARKS[i % len(_MARKS)], markersize=5, capsize=3, linestyle="-")
    for i, base in enumerate(shape.outside(result)):
        entry = base["metrics"][metric.key]
        axis.axhspan(entry["min"], entry["max"], color="#555555", alpha=0.15, linewidth=0)
        axis.axhline(entry["value"], color="#555555", linestyle=_DASHES[i % len(_DASHES)],
                     label=f"baseline {shape.label(base['values'])}")
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(_thousands)
    axis.set_ylabel(_unit(metric))
    _legend(axis)


def _named(label, arms):
    """LABEL, and that it is nothing measured where that is so of any of ARMS."""
    return f"{label} ({guest_arm.NO_MEASUREMENT})" if any(a.get("no_measurement") for a in arms) else label


def _legend(axis):
    """Above the axes, as many columns as its words leave room for."""
    handles, labels = axis.get_legend_handles_labels()
    longest = max(len(text) for text in labels)
    axis.legend(handles, labels, ncols=max(1, min(len(labels), 110 // (longest + 8))),
                loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def _cpu(axis, result, places):
    """User and system stacked, one bar a series at each x, in the colours above."""
    lines = shape.series(result)
    ticks = sorted(set(places.values()))
    step = min((b - a for a, b in zip(ticks, ticks[1:])), default=1)
    width = 0.8 * step / len(lines)
    for i, (_, line) in enumerate(lines):
        xs = [places[a["name"]] + (i - (len(lines) - 1) / 2) * width for a in line]
        user = [shape.value(a, "target_user") or 0 for a in line]
        system = [shape.value(a, "target_system") or 0 for a in line]
        colour = _COLOURS[i % len(_COLOURS)]
        axis.bar(xs, user, width * 0.92, color=colour)
        axis.bar(xs, system, width * 0.92, bottom=user, color=colour, alpha=0.4)
    for i, base in enumerate(shape.outside(result)):
        if shape.value(base, "target_cpu") is not None:
            axis.axhline(shape.value(base, "target_cpu"), color="#555555",
                         linestyle=_DASHES[i % len(_DASHES)])
    axis.set_ylim(bottom=0)
    axis.set_ylabel("target CPU, % of one\ndark: user, light: system")
