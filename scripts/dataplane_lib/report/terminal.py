# SPDX-License-Identifier: GPL-2.0-only
"""What a terminal shows of a result: what was measured, one table, a few lines of verdict, and how many warnings there are."""

import io
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table as Rich
from rich.text import Text

from .. import units
from ..judge import summary
from ..model import device
from . import table, verdict_table

# Columns of text, unless the terminal has fewer.
WIDTH = 80
# Lines of verdict, and parts of one that is a list.
_SENTENCES, _PARTS = 4, 3
_LONG = 240
# Between two columns.
_GAP = 2
# Stands for a blank at which no line ends, one that rich takes for a letter.
_TIE = "\u2800"


@dataclass
class View:
    """How much is shown: WIDE has all columns, VERBOSE all arms, sentences and warnings. JSON and JUNIT are files, SUMMARY is "markdown"; see machine.py. PERCENTILES are those of the reader's choice."""
    wide: bool = False
    verbose: bool = False
    json: str | None = None
    summary: str | None = None
    junit: str | None = None
    percentiles: tuple = ()


def show(result, place, view=View()):
    """Print the report on RESULT, a digest; PLACE is its directory."""
    study = result["study"]
    out = [*wrapped(study["title"] or study["name"]), *wrapped(device.described(study, result.get("has_target", True))), ""]
    if "compared" in result:
        out = [*(line for text in result["compared"] for line in wrapped(text, "! ")), *out]
    for one in _tables(result, view):
        out += [*lines(one, None if view.wide else WIDTH), ""]
    out += _verdict(summary.sentences(result), view)
    out += [line for text in result.get("gate", {}).get("sentences", ()) for line in wrapped(text, "* ")]
    out += _warnings([w for w in result["warnings"] if w not in result.get("compared", ())], view)
    if view.verbose and result["rtt_ns"]:
        out.append(f"  cache-line round trip between CPUs {result['cpus']['fio']} and {result['cpus']['target']}: {result['rtt_ns']:.0f} ns (median)")
    print("\n".join([*out, f"report: {place / 'report.html'}"]))


def _tables(result, view):
    """The one that answers the question; all of a study's own with VERBOSE."""
    if "verdict" in result:
        return [verdict_table.table(result, not (view.verbose or view.wide)), *table.staged(result)]
    if "told" in result:
        every, shown = table.told(result), result["told"].get("shown", (1, None))
        return [*every, table.full(result, samples=True)] if view.wide else every[:shown[view.verbose]]
    if view.wide:
        return [table.full(result, samples=True), *table.staged(result)]
    return [table.main(result, folded=not view.verbose), *table.staged(result)]


def _verdict(sentences, view):
    """The conclusions; without VERBOSE the first ones, and of a list in one its first parts."""
    shown = sentences if view.verbose else [_shortened(s) for s in sentences[:_SENTENCES]]
    out = [line for text in shown for line in wrapped(text, "* ")]
    left = len(sentences) - len(shown)
    return out + ([f"  {left} more {'sentence' if left == 1 else 'sentences'}: -v shows all"] if left else [])


def _shortened(text):
    parts = text.split("; ")
    if len(text) <= _LONG or len(parts) <= _PARTS + 1:
        return text
    return f"{'; '.join(parts[:_PARTS])}; and {len(parts) - _PARTS} more"


def _warnings(warnings, view):
    if view.verbose:
        return [line for text in warnings for line in wrapped(text, "! ")]
    count = len(warnings)
    return [f"! {count} {'warning' if count == 1 else 'warnings'}: -v shows {'it' if count == 1 else 'them'}"] if count else []


def wrapped(text, mark=""):
    # A figure and its unit stay on one line.
    joined = re.sub(r"(?<=\d) (?=%|×|µs|ms|s\b|ns)", "\0", text)
    return [line.replace("\0", " ") for line in textwrap.wrap(joined, _width(WIDTH), initial_indent=mark, subsequent_indent=" " * len(mark),
                                                              break_long_words=False, break_on_hyphens=False)]


def _width(most):
    """MOST columns, fewer on a terminal that has fewer."""
    return min(most, shutil.get_terminal_size((most, 24)).columns) if sys.stdout.isatty() else most


def lines(one, width=WIDTH):
    """The Table ONE as lines of at most WIDTH columns (None: as many as it takes); what is optional gives way first."""
    room = 10000 if width is None else _width(width)
    hidden = []
    for n in [*_constant(one), *one.optional]:
        if _needed(one, hidden) <= room:
            break
        if n not in hidden:
            hidden.append(n)
    shown = [n for n in range(len(one.head)) if n not in hidden]
    fits = _needed(one, hidden) <= room
    # A word is never cut, so some tables are wider.
    least = 0 if fits else sum(_longest(one, n) + _GAP for n in shown)
    console = Console(file=io.StringIO(), width=max(room, least), color_system=None, force_terminal=False, legacy_windows=False)
    console.print(_rich(one, shown, fits))
    out = [line.replace(_TIE, " ").rstrip() for line in console.file.getvalue().splitlines()]
    if any(one.top) and fits:
        out.insert(0, _over(one, shown))
    notes = ([one.note] if one.note else []) + (["--wide shows the other columns."] if set(hidden) & set(one.optional) else [])
    return [*([one.title] if one.title else []), *out, *(wrapped(" ".join(notes)) if notes else [])]


def _constant(one):
    """The columns that say the same word in all rows: what is varied is elsewhere."""
    return [n for n in range(len(one.head)) if len(one.rows) > 1 and len({row[n] for row in one.rows if n == 0 or row[n]}) == 1
            and not (any(one.top) and one.top[n])]


def _widths(one):
    return [max(len(str(cell)) for cell in column) for column in zip(one.head, *one.rows)]


def _needed(one, hidden):
    return sum(width + _GAP for n, width in enumerate(_widths(one)) if n not in hidden) - _GAP


def _over(one, shown):
    """The line of headings over several columns: each may run into the empty ones after it."""
    line, place, carried, widths = "", 0, "", _widths(one)
    for n, group in enumerate(one.top):
        carried = group or carried
        if n not in shown:
            continue
        if carried:
            line = (line + " ").ljust(place) + carried if line else " " * place + carried
        carried, place = "", place + widths[n] + _GAP
    return line


def _rich(one, shown, fits):
    """The columns SHOWN of ONE, as rich draws them; where it does not FIT, words are kept whole, and a heading over several stands above the first one's own."""
    out = Rich(box=box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n"), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    for n in shown:
        cells = [str(row[n]) for row in one.rows]
        words = sum(units.leading(c) is None and c not in ("", "-", "baseline") for c in cells)
        group = one.top[n] if not fits and any(one.top) else ""
        out.add_column(Text(f"{group}\n{one.head[n]}" if group else one.head[n]), justify="left" if 2 * words > len(cells) else "right",
                       min_width=None if fits else _longest(one, n), overflow="fold")
    for row in one.rows:
        out.add_row(*(Text(_tied(str(row[n]))) for n in shown))
    return out


def _tied(text):
    """TEXT with what must not be torn apart, a figure and its unit or an interval, in one word."""
    return re.sub(r"(?<=\d) (?=%|×|µs|ms|s\b|ns)|(?<=,) (?=[-+0-9][^\]]*\])", _TIE, text)


def _longest(one, n):
    """Columns of the longest word of column N: a word is never cut."""
    texts = [one.head[n], one.top[n] if any(one.top) else "", *(_tied(str(row[n])) for row in one.rows)]
    return max((len(word) for text in texts for word in text.split()), default=1)
