# SPDX-License-Identifier: GPL-2.0-only
"""The picture of what requests are made of: a stacked bar an arm and group of requests, as shares of their time."""

from .. import units
from ..model import shape
from ..trace import records as tf, stages
from . import picture
from .picture import INK, WIDTH, Tips

CAPTION = ("What requests are made of: a bar for the middle half of an arm's requests by lifetime, the slowest 1 % and 0.1 %, each 100 % of their time. "
           "Blue: the way to the target; orange: in the target; green: the way back; darker is later. Right: the mean lifetime.")
# Colour and the stages that have it, lightest first
_PARTS = ((picture.COLOURS[0], (tf.SUBMIT, tf.KICK, tf.WOKEN, tf.POP)), (picture.COLOURS[1], (tf.START, tf.WORK, tf.WORKED, tf.DONE, tf.PUBLISH)),
          (picture.COLOURS[2], (tf.CALL, tf.AWAKE, tf.SEEN, tf.RETURN)))
# Shares from this on have their stage's name in them, as far as it fits: % a character takes.
_NAMED, _CHARACTER = 12, 1.55
# Rows of room for an arm's name
_GAP = 1.1
# More arms than this fill no page.
_MOST = 16


def shown(result):
    """Are there stages to draw?"""
    return bool(result.get("stages", {}).get("arms"))


def keep(place, title):
    """What writes the picture into files of its own in PLACE, under TITLE."""
    def write(figure, text):
        (place / "stages.svg").write_text(text, encoding="utf-8")
        figure.suptitle(picture.shortened(title, 76), fontsize=11)
        figure.savefig(place / "stages.png", dpi=130)
    return write


def _looks():
    """{stage: (colour, alpha)}."""
    out = {}
    for colour, events in _PARTS:
        for n, event in enumerate(events):
            out[stages.NAMES[event]] = colour, 0.35 + 0.6 * n / (len(events) - 1)
    return out


def draw(result, pyplot):
    """(figure, Tips)."""
    arms = [a for a in result["arms"] if a["name"] in result["stages"]["arms"]][:_MOST]
    rows = len(arms) * (len(stages.GROUPS) + _GAP)
    figure, axis = pyplot.subplots(figsize=(WIDTH, 0.7 + 0.24 * rows), layout="constrained")
    tips, place, ticks, looks = Tips(), 0.0, {}, _looks()
    for arm in arms:
        place += _GAP
        axis.text(0, place - 0.9, picture.shortened(shape.label(arm["values"]) or arm["name"], 60), va="center")
        for key, group in result["stages"]["arms"][arm["name"]].items():
            if group["ns"]:
                _bar(axis, place, group, looks, tips, f"{arm['name']}, {stages.GROUP_NAMES[key]}")
            ticks[place] = stages.GROUP_NAMES[key]
            place += 1
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set_ylim(place - 0.4, -0.1)
    axis.set_xlim(0, 100)
    axis.grid(False, axis="y")
    axis.set_xlabel("share of the time, %")
    return figure, tips


def _bar(axis, place, group, looks, tips, title):
    left = 0.0
    for stage, ns in group["stages"].items():
        share = 100 * ns / group["ns"]
        colour, alpha = looks.get(stage, (picture.COLOURS[2], 0.75))
        bar = axis.barh([place], [share], 0.86, left=left, color=colour, alpha=alpha, edgecolor="none")[0]
        tips.add(bar, [f"{title}\nuntil {stage}: {share:.1f} %, {units.time(ns)} of {units.time(group['ns'])}"])
        if share >= _NAMED:
            axis.text(left + share / 2, place, picture.shortened(stage, int(share / _CHARACTER)), ha="center", va="center", fontsize=8, color=INK, clip_on=True)
        left += share
    axis.text(100.5, place, units.time(group["ns"]), va="center", fontsize=9)
