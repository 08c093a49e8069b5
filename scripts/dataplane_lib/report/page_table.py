# SPDX-License-Identifier: GPL-2.0-only
"""A table for the page, made of a table.Table: which cells are figures, which are words. page.js makes it sort."""

from dataclasses import dataclass

from markupsafe import Markup, escape

from .. import units
from ..model import metrics

# Words of more characters than this may be broken into lines.
_LONG = 24
_NOTHING = ("", "-", "baseline", "gone")


class Html(Markup):
    """A cell that is HTML already."""


@dataclass
class Cell:
    """TEXT with its attributes: KINDS of the class, and the VALUE that page.js sorts by."""
    text: str
    kinds: str = ""
    value: str = ""


@dataclass
class Row:
    """CELLS of a row; BASELINE where it is that."""
    cells: list
    baseline: bool


@dataclass
class Group:
    """A heading over SPAN columns."""
    text: str
    span: int


@dataclass
class Laid:
    """A table.Table as the template draws it."""
    title: str
    over: list
    head: list
    rows: list
    note: str


def laid(one, title=""):
    """The Table ONE for the template; TITLE replaces its own."""
    words = [_wordy([row[i] for row in one.rows]) for i in range(len(one.head))]
    over = _groups(one.top) if any(one.top) else []
    head = [Cell(text, _kinds(["word"] if word else [])) for text, word in zip(one.head, words)]
    rows = [Row([_cell(c, w) for c, w in zip(row, words)], "baseline" in row) for row in one.rows]
    return Laid(title or one.title, over, head, rows, one.note)


def run_heads(key):
    """Headings of what is said of a run; KEY is the primary metric, None where nothing is."""
    if key is None:
        return []
    return [metrics.BY_KEY[key].label, "rtt before, ns", "after", "others, % of a CPU", "marks"]


def _wordy(cells):
    """True for a column of words, or of figures that make a sentence: they stand on the left.

    A word among figures (a baseline's 'off') makes none.
    """
    known = [c for c in cells if isinstance(c, Html) or c not in _NOTHING]
    return 2 * sum(isinstance(c, Html) or units.leading(c) is None or len(c) > _LONG for c in known) > len(known)


def _groups(top):
    """Headings that span the empty cells after them."""
    spans = []
    for text in top:
        if text or not spans:
            spans.append(Group(text, 1))
        else:
            spans[-1].span += 1
    return spans


def _cell(cell, word):
    number = None if isinstance(cell, Html) else units.leading(cell)
    kinds = ["word"] if word else []
    if word and number is None and len(cell) > _LONG and not isinstance(cell, Html):
        kinds.append("long")
    return Cell(cell, _kinds(kinds), Markup(f' data-v="{number:.10g}"') if number is not None else "")


def _kinds(kinds):
    return Markup(f' class="{escape(" ".join(kinds))}"') if kinds else ""
