# SPDX-License-Identifier: GPL-2.0-only
"""Every form of the report on a result: terminal, page, CSV, pictures."""

import importlib
import sys
from contextlib import suppress

from .. import files
from ..judge import arms, gate, stages
from ..read import digest, history, store
from . import history_plot, machine, page, plot, table, terminal
from ..errors import REGRESSION, Refused

# Studies that are told in a way of their own: the module whose tell() puts sentences and tables into result["told"].
FORMS = {"match": "judge.match_report", "matrix": "judge.matrix_report", "lifecycle": "trace.lifecycle"}


def write(result, place, runs, nights=()):
    """Every form of the report on RESULT, a digest whose {name: store.Run} are RUNS, into PLACE; NIGHTS are pictures of those before it."""
    from . import percentiles  # scipy takes a while, and other commands have no need of it
    files.write_json(place / "result.json", result)
    table.write_csv(result, place / "result.csv")
    pictures = plot.draw(result, place / "plot.svg", place / "plot.png")
    page.write(result, [*pictures, *nights, *percentiles.for_page(result, runs)], place / "report.html")


def refused(place, meta):
    """Write the page of a study in PLACE that ended before its time, as META knows: why, and where to look."""
    with suppress(OSError):
        page.write_refused(meta, meta["reason"], place / "report.html")


def judged(stored, percentiles=()):
    """The digest of STORED, a store.Result, with what is concluded from it and its gate; tables have PERCENTILES, or those of the study."""
    result = digest.digest(stored)
    if percentiles:
        result["study"]["percentiles"] = list(percentiles)
    if "ab" in result:
        from ..judge import ab  # scipy takes a while, and other reports have no need of it
        ab.judge(result, stored)
    else:
        arms.judge(result)
    stages.judge(result)
    gate.hold(result, stored)
    return result


def report(place, view=terminal.View(), nights=None, keep=False):
    """Write every form of the report on the result in PLACE, print it as VIEW says, and return the digest. One of many raw files is put into one file first.

    NIGHTS is the store of earlier results, whose picture is on the page, or None; the result is put into it if KEEP, or, if that is None, where it was gated.
    """
    try:
        stored = store.load(place)
        result = judged(stored, view.percentiles)
    except Refused as err:
        # A page of better days must not stay.
        with suppress(OSError, Refused), files.reading(place):
            page.write_refused(files.read_json(place / "meta.json"), str(err).removeprefix(f"{place}: refused: "), place / "report.html")
        raise
    if not (place / store.FILE).exists():
        store.write(stored)
    form = result["study"].get("form")
    if form:
        importlib.import_module(f"dataplane_lib.{FORMS[form]}").tell(result)
    drawn = _nights(result, place, nights, keep)
    write(result, place, stored.by_name(), drawn)
    machine.deliver(result, place, view)
    return result


def _nights(result, place, path, keep):
    """The picture of RESULT among those in the store PATH, into which it goes first as KEEP says."""
    if not path:
        return []
    try:
        if keep or keep is None and "gate" in result:
            history.keep(path, result, place.name)
        return history_plot.for_page(result, path)
    except Refused as err:
        # A store that nobody named must not take a verdict's place; one that was named is part of what was asked.
        if keep and result.get("gate", {}).get("status") != REGRESSION:
            raise
        print(f"dataplane: not in the history: {err}", file=sys.stderr)
        return []
