# SPDX-License-Identifier: GPL-2.0-only
"""dataplane compare: results of different times or machines, or of a baseline and what came after it."""

import os
import shlex

from .. import files
from . import baseline, options
from ..read import store
from ..errors import Refused


def add(command, result):
    """Add compare to the command line; RESULT(text) is the directory of one."""
    sub = command("compare", "compare results of different times or machines", lambda args: run(args, result))
    sub.add_argument("result", metavar="RESULT", nargs="*",
                     help="two results, the second against the first: directories, or names under results/; with --base one or more, a session each")
    sub.add_argument("--base", metavar="NAME", help="compare them with all sessions of this baseline, see baseline (default: none)")
    sub.add_argument("--before", metavar="RESULT", nargs="+", default=[], help="several results of one side, a session each (default: none)")
    sub.add_argument("--after", metavar="RESULT", nargs="+", default=[], help="several results of the other side (default: none)")
    options.add_gate(sub, runs=False)
    sub.add_argument("--out", metavar="DIR", help="directory of the report (default: results/DATE-compare-NAME)")
    options.add_view(sub)


def _sides(args, result):
    """The directories of the results before, and after."""
    if sum(map(bool, (args.base, args.before, args.result and not args.base))) > 1:
        raise Refused("compare: give two results, or --before and --after, or --base and results")
    if args.base:
        after = [*args.result, *args.after]
        if not after:
            raise Refused(f"compare: --base {args.base} needs results to compare with it")
        return baseline.sessions(args.base), [result(text) for text in after]
    if args.result and (len(args.result) != 2 or args.after) or not (args.result or args.before and args.after):
        raise Refused("compare: two results are needed, or --before RESULT… --after RESULT…, or --base NAME RESULT…")
    return [result(text) for text in args.before or args.result[:1]], [result(text) for text in args.after or args.result[1:]]


def run(args, result):
    """The command; returns the exit status."""
    from ..judge import compare, gate  # scipy takes a while, and other commands have no need of it
    from ..read import digest
    from ..report import machine, write
    band = options.dead_band(args)
    gate.parse(args.fail_if, band)
    before, after = _sides(args, result)
    places = [*before, *after]
    twice = next((p for p in places if places.count(p) > 1), None)
    if twice:
        raise Refused(f"{twice}: the same result is given twice")
    stored = [store.load(place) for place in places]
    if args.base:
        baseline.check_new(args.base, stored[:len(before)], stored[len(before):])
    found = [digest.digest(each) for each in stored]
    combined = compare.compare(found[:len(before)], found[len(before):], places, [each.header.get("job_files") for each in stored],
                               args.fail_if, band)
    place = files.result_directory(combined["study"]["name"], args.out)
    combined["command"] = shlex.join(["dataplane", *args.argv])
    by_name, kept = [each.by_name() for each in stored], {}
    for each in combined["runs"]:
        n, name = each.pop("session"), each["directory"]
        each["directory"] = f"{os.path.relpath(places[n] / 'raw', place / 'raw')}/{name}"
        kept[each["directory"]] = by_name[n][name]
    write.write(combined, place, kept)
    machine.deliver(combined, place, options.view(args))
    return combined.get("gate", {}).get("status", 0)
