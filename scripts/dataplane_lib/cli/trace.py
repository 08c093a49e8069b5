# SPDX-License-Identifier: GPL-2.0-only
"""dataplane trace FILE…: where the time of requests goes, as the engine, the target, or both have written it down."""

import csv
import sys
from pathlib import Path

from .. import files, units
from . import for_json
from ..report import terminal
from ..report.table import Table
from ..trace import perfetto, requests, show, workload
from ..errors import Refused


def run(args):
    """The command."""
    with for_json.delivered(args, "trace") as data:
        _tell(args, data)


def _tell(args, data):
    """Print what the traces hold, and put it into DATA."""
    if args.csv and args.json == files.STDOUT:
        raise Refused("trace: --csv and --json - exclude each other")
    if args.timeline < 0:
        raise Refused(f"--timeline must be 0 or more (is {args.timeline})")
    found = requests.load(args.file)
    shown, what = show.of_interest(found)
    made = show.digest(found, shown, what)
    timeline = show.timeline(found, shown, args.timeline) if args.timeline else []
    data.update(made, timeline=[{"request": head, "events": [dict(zip(("since_first_us", "since_before_us", "thread", "event"), row)) for row in rows]} for head, rows in timeline])
    if args.perfetto:
        _write_perfetto(args.perfetto, found, shown)
    if args.csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(("stage", *show.COLUMNS))
        for row in made["stages"]:
            out.writerow([row["stage"], *(round(row[c], 3) for c in show.COLUMNS)])
        return
    for table in _tables(made):
        print("\n".join([*terminal.lines(table, None if args.wide else terminal.WIDTH), ""]))
    for text in show.sentences(made):
        print(f"* {text}")
    for head, rows in timeline:
        print("\n".join(["", *terminal.lines(Table(show.TIMELINE, rows, title=head))]))


def _write_perfetto(path, found, shown):
    text, number = perfetto.text(found, shown)
    try:
        files.write_whole(Path(path), text)
    except OSError as err:
        raise Refused(f"--perfetto {path}: {err.strerror}") from None
    print(f"dataplane: {path}: {number} requests of {len(shown)}, for ui.perfetto.dev", file=sys.stderr)


def _tables(made):
    rows = [show.stage_row(row["stage"], row) for row in made["stages"]]
    out = [Table(show.STAGES, rows, show.STAGES_TOP, title="Where the time goes", note=show.STAGES_NOTE, optional=show.STAGES_OPTIONAL)]
    return out + ([_load(made["load"])] if made["load"] else [])


def _load(sides):
    """The workload as each side saw it."""
    head = ["the workload", *sides] + (["difference"] if len(sides) == 2 else [])
    rows = []
    for key in workload.KEYS:
        values = [side[key] for side in sides.values()]
        row = [workload.LABELS[key], *(workload.text(key, v) for v in values)]
        if len(values) == 2:
            row.append(_difference(*values))
        rows.append(row)
    return Table(head, rows)


def _difference(engine, target):
    """The target's figure against the engine's, in %."""
    return units.percent(100 * (target / engine - 1) if engine and target is not None else None)
