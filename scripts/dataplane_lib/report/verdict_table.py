# SPDX-License-Identifier: GPL-2.0-only
"""The table of a verdict, of ab or compare, from what result.json holds: for the terminal and the report."""

from .. import units
from ..model import metrics

# The words of a line that tells of no difference: none was found, none could have been.
_MARKS = {"~": "~ is no difference found", "?": "? cannot be told: so few runs find nothing, however they come out"}
NOTHING = tuple(_MARKS)


def table(result):
    """(heads, rows): metric, both arms' figures, and what was found in words."""
    found = result["verdict"]
    one, two = ("1", "2") if "arms" in found else ("A", "B")
    heads = ["metric", one, two, f"{two} against {one} [{100 * found['level']:.0f} %]"]
    if "arms" not in found:
        return heads, [_row(line, "") for line in found["lines"]]
    arms = found["arms"]
    if len(arms) == 1:
        return heads, [_row(line, "") for line in arms[0]["lines"]]
    return heads, [_row(arm["lines"][0], arm["name"]) for arm in arms]


def _row(line, arm):
    label = _with_unit(metrics.BY_KEY[line["metric"]])
    return [f"{arm}: {label}" if arm else label + (" (primary)" if line["primary"] else ""),
            units.short(line["a"]), units.short(line["b"]), line["text"]]


def _with_unit(metric):
    """'lat mean, us'; what is called IOPS has said it."""
    unit = "" if metric.label.startswith("IOPS") else metric.unit.removeprefix("1").removesuffix(" of a CPU")
    return f"{metric.label}, {unit}" if unit else metric.label


def percentiles(result):
    """(heads, rows) of the arms' percentiles with their intervals in us; None where there are none."""
    found = result["verdict"].get("percentiles")
    if not found:
        return None
    names = list(next(iter(found.values())))
    return ["latency us", *found], [[name, *(_interval(arm[name]) for arm in found.values())] for name in names]


def _interval(found):
    """'20.6 [20.4, 21.0]', and what is to be said about it."""
    value, low, high = (units.short(found[k] / 1000) for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]" + (f": {'; '.join(found['notes'])}" if found["notes"] else "")


def legend(result):
    """What must be known to read it."""
    found = result["verdict"]
    if "arms" in found:
        what = "p are corrected for how many there are (Holm)"
        what += "; the other metrics are in result.json" if len(found["arms"]) > 1 else ""
        return f"{_marks(found['arms'])}; {what}"
    return f"{found['pairs']} pairs in random order; {_marks([found])}; the p of all but the primary metric are corrected (Holm)"


def _marks(shown):
    """What the words mean that are no words."""
    words = {line["word"] for one in shown for line in one["lines"]}
    return "; ".join(text for word, text in _MARKS.items() if word in words or word == "~")


def lines(result):
    """What the terminal shows."""
    heads, rows = table(result)
    every = [["", *heads[1:]], *rows]
    widths = [max(len(r[i]) for r in every) for i in range(3)]
    return [f"{r[0]:<{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]:>{widths[2]}}  {r[3]}" for r in every] + [
        "", legend(result), "", *(f"* {text}" for text in result["verdict"]["sentences"])]
