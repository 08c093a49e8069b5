# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of latencies: the distribution up to 99.999 %, on an axis that gives every nine the same room, and over time."""

import math
from collections import Counter

import numpy as np

from .. import units
from ..model import metrics
from . import picture, plot
from ..stats import latency
from .picture import Tips, colour

_POINTS = 150
# What the marks, and the table, tell.
TOLD = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
# Over time: these, where a window has I/Os enough for them.
_OVER_TIME = (50.0, 99.0, 99.9)


def _place(p):
    """Where the percentile P lies: the nines of it."""
    return -math.log10(1 - p / 100)


def distribution(curves, pyplot):
    """(figure, tips) of the latency at each percentile, up to where each curve has too few I/Os; the marks are at TOLD."""
    figure, axis = pyplot.subplots(figsize=(picture.WIDTH, 4.0 + 0.2 * len(curves)), layout="constrained")
    tips = Tips()
    for i, curve in enumerate(curves):
        end = min(_place(max(TOLD)), math.log10(max(curve.total / metrics.FEWEST_BEYOND, 1)))
        grid = [100 * (1 - 10 ** -x) for x in np.linspace(0, end, _POINTS)]
        found = curve.intervals([*grid, *TOLD])
        ps = sorted(found)
        if not ps:
            continue
        xs = [_place(p) for p in ps]
        axis.fill_between(xs, [found[p].low / 1000 for p in ps], [found[p].high / 1000 for p in ps], color=colour(i),
                          alpha=0.2, linewidth=0)
        axis.plot(xs, [found[p].merged / 1000 for p in ps], color=colour(i), linewidth=1.4)
        marks = [p for p in TOLD if p in found]
        line, = axis.plot([_place(p) for p in marks], [found[p].merged / 1000 for p in marks], color=colour(i), marker=picture.mark(i),
                          markersize=5, linestyle="")
        axis.plot([], [], color=colour(i), marker=picture.mark(i), markersize=5, label=_label(curve))
        tips.add(line, [f"{curve.name}\np{p:g}: {units.time(found[p].merged)} "
                        f"(median of runs {units.time(found[p].value)}, {units.time(found[p].low)} to {units.time(found[p].high)})" for p in marks])
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(_ticks())
    axis.yaxis.set_minor_locator(pyplot.NullLocator())
    axis.yaxis.set_major_formatter(lambda value, _: units.short(value) if value < 1000 else f"{value / 1000:g}k")
    axis.set_xticks([0, *map(_place, TOLD)], ["0", *(f"{p:g}" for p in TOLD)])
    axis.set_xlim(0, _place(max(TOLD)) + 0.05)
    axis.set_xlabel("percentile (each nine has the same room)")
    axis.set_ylabel("latency, µs")
    plot.legend(axis)
    return figure, tips


def _label(curve):
    return picture.shortened(curve.name, 44)


def _ticks():
    from matplotlib.ticker import LogLocator
    return LogLocator(base=10, subs=(1, 2, 5), numticks=20)


def panels(curves):
    """The percentiles that are drawn over time, none where no log tells any; None stands for the mean."""
    kept = [curve for curve in curves if curve.logs]
    if kept and all(log.means for curve in kept for log in curve.logs):
        return [None]
    return [p for p in _OVER_TIME if any(_series(curve, p) for curve in kept)]


def over_time(curves, pyplot):
    """(figure, tips) of percentiles window by window, or of means where the logs hold no more."""
    kept = [(i, curve) for i, curve in enumerate(curves) if curve.logs]
    ps = panels(curves)
    figure, axes = pyplot.subplots(len(ps), 1, sharex=True, squeeze=False, layout="constrained",
                                   figsize=(picture.WIDTH, 0.8 + 2.3 * len(ps) + 0.2 * len(kept)))
    tips = Tips()
    for axis, p in zip(axes[:, 0], ps):
        for i, curve in kept:
            found = _series(curve, p)
            if not found:
                continue
            xs, middle, low, high = (list(column) for column in zip(*found))
            axis.fill_between(xs, low, high, color=colour(i), alpha=0.2, linewidth=0)
            line, = axis.plot(xs, middle, color=colour(i), marker=picture.mark(i), markersize=4 if len(xs) <= 60 else 2,
                              label=_label(curve))
            what = "mean" if p is None else f"p{p:g}"
            tips.add(line, [f"{curve.name}, {x:.3g} s\n{what} {units.time(1000 * y)} ({units.time(1000 * a)} to {units.time(1000 * b)} in the runs)"
                            for x, y, a, b in found])
        kinds = sorted({log.kind for _, curve in kept for log in curve.logs})
        axis.set_ylabel(f"{'/'.join(kinds)} {'mean' if p is None else f'p{p:g}'}, µs")
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(lambda value, _: units.short(value) if value < 1000 else f"{value / 1000:g}k")
    plot.legend(axes[0][0])
    axes[-1][0].set_xlabel("seconds since the run's first sample")
    return figure, tips


def _series(curve, p):
    """[(s, all runs together, lowest run, highest run)] in us, of windows with I/Os enough for P; None is the mean."""
    out = []
    for n in range(max(len(log.windows) for log in curve.logs)):
        each = [log.windows[n] for log in curve.logs if n < len(log.windows) and log.windows[n]]
        together = Counter()
        for window in each:
            together.update(window)
        if not together or (p is not None and metrics.beyond(sum(together.values()), p) < metrics.FEWEST_BEYOND):
            continue
        values = [_value(w, p) / 1000 for w in each]
        out.append(((n + 1) * curve.logs[0].step / 1000, _value(together, p) / 1000, min(values), max(values)))
    return out


def _value(window, p):
    if p is None:
        return sum(v * c for v, c in window.items()) / sum(window.values())
    return latency.percentile(window, p)
