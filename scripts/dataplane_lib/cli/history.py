# SPDX-License-Identifier: GPL-2.0-only
"""dataplane history: figures of every night in one file, their steps, and Apache Otava's CSV."""

import argparse
import csv
import sys

from .. import paths, units
from . import for_json
from ..model import metrics
from ..errors import CommandLine, Refused

_HELP = """\
  history add FILE RESULT…   put results in; one that is there stays as it is
  history show [FILE]        a metric over commits, with the steps in it
  history export [FILE]      a row a night and arm, as Apache Otava reads it

FILE is results/history.db, or what FIO_DATAPLANE_HISTORY says, unless it is
given. Every ab, sweep and run with --fail-if puts its result there by itself,
unless --no-history or an empty FIO_DATAPLANE_HISTORY says no; '--history FILE'
puts any result into FILE. The page of a result shows the nights before it.

Figures of different hosts are never in one series. 'ab --against last-good'
has the last commit that passed the gate as arm A of every night, and --ratio
shows B against A: that is what another machine, or a new kernel, changes
least. Where A was not the same every night, 'in all' multiplies the ratios:
it shows many small losses that each passed.
"""
_BARS = "▁▂▃▄▅▆▇█"


def add(command, result):
    """Add history to the command line; RESULT(text) is the directory of one."""
    sub = command("history", "keep figures of every night, and find the steps in them", lambda args: run(args, result))
    sub.epilog, sub.formatter_class = _HELP, argparse.RawDescriptionHelpFormatter
    sub.add_argument("action", choices=("add", "show", "export"), help="what to do, see below")
    sub.add_argument("file", metavar="FILE", nargs="?", help="the store; add makes it (default: results/history.db, or what FIO_DATAPLANE_HISTORY says)")
    sub.add_argument("result", metavar="RESULT", nargs="*", help="results to add: directories, or names under results/")
    sub.add_argument("--metric", metavar="METRIC", default="iops", help="what is shown (default: iops; export: all)")
    sub.add_argument("--study", metavar="NAME", help="one study only (default: all)")
    sub.add_argument("--ratio", action="store_true", help="the change against the baseline of the same night, in %% (default: the figure)")
    sub.add_argument("--otava", action="store_true", help="with export: Apache Otava's form (the default and only one)")
    for_json.add(sub)


def run(args, result):
    """The command."""
    with for_json.delivered(args, "history") as data:
        _run(args, result, data)


def _run(args, result, data):
    """What the command does; DATA gets what was added, or the series."""
    from ..read import history
    metrics.check(args.metric, "--metric")
    path = args.file or paths.history()
    if path is None:
        raise CommandLine(f"history {args.action}: names no store, and FIO_DATAPLANE_HISTORY is empty")
    if args.action == "add":
        if not args.result:
            raise CommandLine("history add: names no result")
        for text in args.result:
            place = result(text)
            added = _put(path, place)
            data.setdefault("results", []).append({"result": place.name, "added": added})
            print(f"{place.name}: {'added' if added else 'was there already'}")
        return
    if args.result:
        raise CommandLine(f"history {args.action}: takes no result")
    if args.action == "export":
        found = history.series(path, study=args.study)
        data["series"] = [dict(zip(("study", "arm", "host", "metric"), key), nights=rows) for key, rows in found.items()]
        _otava(found)
        return
    found = history.series(path, args.metric, args.study)
    if not found:
        raise Refused(f"{path}: has no {args.metric}{f' of {args.study}' if args.study else ''}")
    data["series"] = []
    for key, rows in found.items():
        told = _show(key, rows, args.ratio)
        data["series"].append({**dict(zip(("study", "arm", "host", "metric"), key)), "ratio": args.ratio, "nights": rows, "steps": told})


def _put(path, place):
    """Put the result in PLACE into the store PATH; False where it was there."""
    from ..read import history, store
    from ..report import write
    return history.keep(path, write.judged(store.load(place)), place.name)


def _levels(rows):
    """The change of each night's commit, in %, against the first arm A of all: the ratios multiplied along the commits that were A later. None where A was always the same."""
    if len({row["against"] for row in rows}) < 2:
        return [None] * len(rows)
    level, out = {}, []
    for row in rows:
        level[row["commit"]] = level.get(row["against"], 1.0) * (1 + row["ratio"] / 100)
        out.append(100 * (level[row["commit"]] - 1))
    return out


def _show(key, rows, ratio):
    """A line a night: date, commit, figure, interval, a bar; a step is marked with how large it is. Returns the steps."""
    from ..read import history
    from ..stats import steps
    study, arm, host, metric = key
    rows = [row for row in rows if not ratio or row["ratio"] is not None]
    if not rows:
        return []
    values = [1 + row["ratio"] / 100 if ratio else row["median"] for row in rows]
    found = dict(steps.find(values))
    label = metrics.BY_KEY[metric].label + (" against the baseline" if ratio else "")
    print(f"{study}, {arm}, host {host}: {label}, {units.counted(len(rows), 'night')}, {units.counted(len(found), 'step')}")
    low, high = min(values), max(values)
    edges, told = [0, *sorted(found), len(rows)], []
    for n, (row, value, level) in enumerate(zip(rows, values, _levels(rows) if ratio else [None] * len(rows))):
        bar = _BARS[min(len(_BARS) - 1, int(len(_BARS) * (value - low) / (high - low)))] if high > low else _BARS[3]
        text = units.percent(row["ratio"]) if ratio else units.quantity(value, metrics.BY_KEY[metric].unit)
        ends = "" if ratio or row["low"] is None else f" [{', '.join(units.quantity(row[k], metrics.BY_KEY[metric].unit) for k in ('low', 'high'))}]"
        mark = f" (in all {units.percent(level)})" if level is not None else ""
        if n in found:
            k = edges.index(n)
            before, after = (sum(part) / len(part) for part in (values[edges[k - 1]:n], values[n:edges[k + 1]]))
            change = 100 * (after / before - 1) if before else None
            told.append({"date": row["date"], "commit": row["commit"], "change_percent": change, "p": found[n]})
            mark += f"  <- step {units.percent(change) if before else ''} (p={found[n]:.3f})"
        print(f"  {row['date'][:16]}  {history.short(row['commit']):<12}  {bar}  {text}{ends}{mark}")
    print()
    return told


def _otava(found):
    """CSV with a time column, attributes and a column a metric: a row a night and arm."""
    rows, columns = {}, []
    for (study, arm, host, metric), series in found.items():
        columns += [metric] if metric not in columns else []
        for each in series:
            row = rows.setdefault((each["date"], study, arm, host, each["commit"]), {})
            row[metric] = each["median"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["time", "commit", "study", "arm", "host", *columns])
    for (date, study, arm, host, commit), row in sorted(rows.items()):
        out.writerow([date.replace(" ", "T"), commit, study, arm, host, *("" if row.get(c) is None else f"{row[c]:.6g}" for c in columns)])
