# SPDX-License-Identifier: GPL-2.0-only
"""Every form of the report on a result: terminal, page, CSV, pictures."""

import importlib
from contextlib import suppress

from .. import files
from ..judge import arms, gate, stages
from ..read import digest, store
from . import machine, page, plot, table, terminal
from ..errors import Refused

# Studies that are told in a way of their own: the module whose tell() puts sentences and tables into result["told"].
FORMS = {"match": "judge.match_report", "matrix": "judge.matrix_report", "lifecycle": "trace.lifecycle"}


def write(result, place, runs):
    """Every form of the report on RESULT, a digest whose {name: store.Run} are RUNS, into PLACE."""
    from . import percentiles  # scipy takes a while, and other commands have no need of it
    files.write_json(place / "result.json", result)
    table.write_csv(result, place / "result.csv")
    pictures = plot.draw(result, place / "plot.svg", place / "plot.png")
    page.write(result, pictures + percentiles.for_page(result, runs), place / "report.html")


def refused(place, meta):
    """Write the page of a study in PLACE that ended before its time, as META knows: why, and where to look."""
    with suppress(OSError):
        page.write_refused(meta, meta["reason"], place / "report.html")


def report(place, view=terminal.View()):
    """Write every form of the report on the result in PLACE, print it as VIEW says, and return the digest. One of many raw files is put into one file first."""
    try:
        stored = store.load(place)
        result = digest.digest(stored)
    except Refused as err:
        # A page of better days must not stay.
        with suppress(OSError, Refused), files.reading(place):
            page.write_refused(files.read_json(place / "meta.json"), str(err).removeprefix(f"{place}: refused: "), place / "report.html")
        raise
    if view.percentiles:
        result["study"]["percentiles"] = list(view.percentiles)
    if not (place / store.FILE).exists():
        store.write(stored)
    if "ab" in result:
        from ..judge import ab  # scipy takes a while, and other reports have no need of it
        ab.judge(result, stored)
    else:
        arms.judge(result)
    stages.judge(result)
    gate.hold(result, stored)
    form = result["study"].get("form")
    if form:
        importlib.import_module(f"dataplane_lib.{FORMS[form]}").tell(result)
    write(result, place, stored.by_name())
    machine.deliver(result, place, view)
    return result
