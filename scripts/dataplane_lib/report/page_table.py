# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the page: they scroll by themselves where they are wide, and page.js makes them sort."""

import re
from html import escape

from .. import units
from ..model import metrics

_NUMBER = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]+)?)(ns|us|ms|[kKmMgGs]|)(?=[% ]|\.\.|$)")
# Words of more characters than this may be broken into lines.
_LONG = 24
_NOTHING = ("", "-", "baseline", "gone")


class Html(str):
    """A cell that is HTML already."""


def table(top, heads, rows):
    """TOP are headings over several columns, or None; HEADS and ROWS are lists of text."""
    words = [_wordy([row[i] for row in rows]) for i in range(len(heads))]
    out = ['<div class="wide" tabindex="0"><table class="sort"><thead>']
    if top and any(top):
        out.append("<tr>" + "".join(_groups(top)) + "</tr>")
    out.append("<tr>" + "".join(_cell("th", c, w) for c, w in zip(heads, words)) + "</tr></thead><tbody>")
    for row in rows:
        mark = ' class="baseline"' if "baseline" in row else ""
        out.append(f"<tr{mark}>" + "".join(_cell("td", c, w) for c, w in zip(row, words)) + "</tr>")
    return "\n".join(out + ["</tbody></table></div>"])


def run_heads(key):
    """Headings of what is told of a run; KEY is the primary metric, None where nothing is."""
    if key is None:
        return []
    return [metrics.BY_KEY[key].label, "rtt before, ns", "after", "others, % of a CPU", "marks"]


def value(text):
    """What a cell is sorted by where it is a figure: 38.1k, +3.1 %, 25.0k..25.2k, 40+12; else None."""
    text = text.strip("()!")
    both = re.fullmatch(r"([0-9]+)\+([0-9]+)", text)
    if both:
        return float(both[1]) + float(both[2])
    match = _NUMBER.match(text)
    if not match:
        return None
    number = units.number(match[2] + match[3])
    return -number if match[1] == "-" else number


def _wordy(cells):
    """True for a column of words, or of figures that make a sentence: they stand on the left.

    A word among figures (a baseline's 'off') makes none.
    """
    told = [c for c in cells if isinstance(c, Html) or c not in _NOTHING]
    return 2 * sum(isinstance(c, Html) or value(c) is None or len(c) > _LONG for c in told) > len(told)


def _groups(top):
    """Headings that span the empty cells after them."""
    spans = []
    for text in top:
        if text or not spans:
            spans.append([text, 1])
        else:
            spans[-1][1] += 1
    return [f'<th class="group" colspan="{n}">{escape(t)}</th>' for t, n in spans]


def _cell(tag, cell, word):
    number = None if isinstance(cell, Html) or tag == "th" else value(cell)
    kinds = ["word"] if word else []
    if word and number is None and len(cell) > _LONG and not isinstance(cell, Html):
        kinds.append("long")
    attributes = f' class="{" ".join(kinds)}"' if kinds else ""
    if number is not None:
        attributes += f' data-v="{number:.10g}"'
    return f"<{tag}{attributes}>{cell if isinstance(cell, Html) else escape(cell)}</{tag}>"
