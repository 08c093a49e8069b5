# SPDX-License-Identifier: GPL-2.0-only
"""The table of a verdict, of ab or compare, from what result.json holds."""

from .. import units
from ..judge import words
from ..model import metrics
from .table import Table, headed

# The words of a line without a difference: none was found, none could have been.
_MARKS = {"~": "~ no significant difference", "?": "? inconclusive: too few runs to find one"}
NOTHING = tuple(_MARKS)


def table(result, folded=False):
    """Metric, both arms' figures, and the change with its interval. Where FOLDED, metrics without a difference share a row."""
    found = result["verdict"]
    one, two = ("1", "2") if "arms" in found else ("A", "B")
    head = ["metric", one, two, f"{two} against {one} ({100 * found['level']:.0f} % CI{', within these sessions' if found.get('within') else ''})"]
    arms = found.get("arms", [found])
    if len(arms) > 1:
        rows = [_row(arm["lines"][0], arm["name"]) for arm in arms]
    else:
        lines = arms[0]["lines"]
        same = [line for line in lines if folded and not line["primary"] and line["word"] in NOTHING]
        rows = [_row(line, "") for line in lines if len(same) < 2 or line not in same]
        if len(same) > 1:
            rows.append([f"{len(same)} other metrics", "", "", words.NO_DIFFERENCE])
    return Table(head, rows, note=legend(result))


def _row(line, arm):
    metric = metrics.BY_KEY[line["metric"]]
    label = headed(metric)
    return [f"{arm}: {label}" if arm else label + (" (primary)" if line["primary"] else ""),
            units.quantity(line["a"], metric.unit), units.quantity(line["b"], metric.unit), line["text"]]


def percentiles(result):
    """The arms' percentiles with their intervals; None where there are none."""
    found = result["verdict"].get("percentiles")
    if not found:
        return None
    names = list(next(iter(found.values())))
    return Table(["latency", *found], [[name, *(_interval(arm[name]) for arm in found.values())] for name in names])


def _interval(found):
    """'20.6 µs [20.4 µs, 21.0 µs]', and what is to be said about it."""
    value, low, high = (units.time(found[k]) for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]" + (f": {'; '.join(found['notes'])}" if found["notes"] else "")


def legend(result):
    """What must be known to read it."""
    found = result["verdict"]
    if "arms" in found:
        what = "the other metrics are in result.json" if len(found["arms"]) > 1 else "1 and 2 are the two sides"
        return f"{what}." if found.get("within") else f"{_marks(found['arms'])}; intervals are corrected for the number of arms (Holm); {what}."
    return f"{found['pairs']} pairs in random order; {_marks([found])}; intervals of all but the primary metric are corrected for their number (Holm)."


def _marks(shown):
    """What the words mean that are no words."""
    said = {line["word"] for one in shown for line in one["lines"]}
    return "; ".join(text for word, text in _MARKS.items() if word in said or word == "~")
