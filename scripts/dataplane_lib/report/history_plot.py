# SPDX-License-Identifier: GPL-2.0-only
"""The nights before a result, for its page: the primary metric of every arm, and its change against the baseline of the same night, with the steps in both."""

from pathlib import Path

from .. import units
from ..host import system
from ..model import metrics
from ..read import history
from ..stats import steps
from . import picture, plot
from .picture import MUTED, WIDTH, Tips, colour, mark

# Arms that a panel has room for, and nights whose commits stand below it.
_MOST, _NAMED = 6, 12


def for_page(result, path):
    """A list of one Picture of what the store PATH knows of RESULT's study on its host; empty with fewer than two nights."""
    key, study, host = result["study"]["primary"], result["study"]["name"], system.fingerprint(result["host"])
    if not Path(path).is_file():
        return []
    found = {arm: rows for (_, arm, where, _), rows in history.series(path, key, study).items() if where == host}
    nights = sorted({(row["date"], row["commit"]) for rows in found.values() for row in rows})
    if len(nights) < 2:
        return []
    shown = [arm["name"] for arm in result["arms"] if arm["name"] in found][:_MOST]
    caption = f"{len(nights)} nights of {study} on this host, from the history: medians with their intervals. A dashed line is a step, where the level changed for good."
    return [plot.drawn(picture.pyplot(), caption, _draw, (key, {arm: found[arm] for arm in shown}, nights), "nights")] if shown else []


def _draw(data, pyplot):
    key, found, nights = data
    metric, place, tips = metrics.BY_KEY[key], {night: n for n, night in enumerate(nights)}, Tips()
    changes = {arm: [row for row in rows if row["ratio"] is not None] for arm, rows in found.items()}
    changes = {arm: rows for arm, rows in changes.items() if rows}
    panels = [(metric.label, found, lambda row: row["median"], True)] + ([("change, %", changes, lambda row: row["ratio"], False)] if changes else [])
    figure, axes = pyplot.subplots(len(panels), 1, sharex=True, squeeze=False, figsize=(WIDTH, 0.6 + 2.4 * len(panels)), layout="constrained")
    for (axis,), (label, arms, value, bars) in zip(axes, panels):
        for i, arm in enumerate(found):
            if arm in arms:
                _line(axis, arm, i, arms[arm], value, bars, metric, place, tips)
        axis.set_ylabel(label)
    axes[0][0].legend(fontsize=9)
    if len(panels) > 1:
        axes[1][0].axhline(0, color=MUTED, linewidth=0.8)
    every = max(1, -(-len(nights) // _NAMED))
    axes[-1][0].set_xticks(range(0, len(nights), every), [history.short(commit) or date[:10] for date, commit in nights[::every]], rotation=45, ha="right", rotation_mode="anchor")
    return figure, tips


def _line(axis, arm, i, rows, value, bars, metric, place, tips):
    """An ARM's figures, VALUE(row), over the nights; with BARS, the interval of each."""
    xs, ys = [place[row["date"], row["commit"]] for row in rows], [value(row) for row in rows]
    sides = [[max(0, row["median"] - row["low"]) if row["low"] is not None else 0 for row in rows],
             [max(0, row["high"] - row["median"]) if row["high"] is not None else 0 for row in rows]]
    made = axis.errorbar(xs, ys, yerr=sides if bars else None, color=colour(i), marker=mark(i), markersize=4, capsize=2, linewidth=1, label=picture.shortened(arm, 40))
    tips.add(made.lines[0], [f"{arm}\n{row['date'][:16]} {row['commit']}\n" + (units.quantity(y, metric.unit) if bars else f"{units.percent(y)} against the baseline") for row, y in zip(rows, ys)])
    for n, _ in steps.find(ys if bars else [1 + y / 100 for y in ys]):
        axis.axvline(xs[n] - 0.5, color=colour(i), linestyle="--", linewidth=1)
