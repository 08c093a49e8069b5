# SPDX-License-Identifier: GPL-2.0-only
"""bench: what an I/O takes on each path of this project, in ns, beside the bar where there is one.

Every round measures every row once, in an order drawn anew, with the round trip of a cache line beside it; the table
has medians. With --against BUILD each row is measured with both builds, one after the other, and compared in pairs.
"""

import argparse
import random
import statistics
import sys
from pathlib import Path

from dataplane_lib import paths
from dataplane_lib.errors import Refused
from dataplane_lib.host import cpus, rtt
from dataplane_lib.stats import ranks

from . import measure, rows


def _parse(argv):
    """The command line, and the rows that are asked for."""
    spdk = any(word.partition("=")[0] == "--spdk" for word in argv)
    table = rows.rows(spdk)
    p = argparse.ArgumentParser(prog="bench", description=__doc__.partition("\n")[0],
                                epilog="Rows: " + ", ".join(row.name for row in table))
    p.add_argument("--spdk", metavar="DIR", type=Path, help="an SPDK built there --with-fio, to measure its plugin and its vhost beside")
    p.add_argument("--rounds", type=int, default=5, metavar="N", help="measurements of each row (default 5)")
    p.add_argument("--seconds", type=float, default=1, metavar="S", help="length of each (default 1)")
    p.add_argument("--only", metavar="ROW,ROW", help="these rows")
    p.add_argument("--against", metavar="BUILD", help="another build directory, to compare this one with in pairs")
    p.add_argument("--cpus", metavar="FIO,TARGET", help="where to run the two sides (default: chosen)")
    a = p.parse_args(argv)
    known = {row.name for row in table}
    a.only = a.only.split(",") if a.only else sorted(known)
    for name in a.only:
        if name not in known:
            p.error(f"--only {name}: not a row")
    if a.rounds < 1 or a.seconds <= 0:
        p.error("--rounds and --seconds must be positive")
    return a, [row for row in table if row.name in a.only]


def _rounds(a, table, builds, pinning):
    """{(row or what is beside, build): [ns]}, a figure a round; progress goes to stderr."""
    found = {}
    for n in range(a.rounds):
        for row in random.sample(table, len(table)):
            for build in random.sample(builds, len(builds)):
                found.setdefault((row.name, build), []).append(measure.measure(row, build, pinning, a.seconds, a.spdk))
            if len(builds) > 1:
                found.setdefault(("rtt beside", row.name), []).append(rtt.measure(pinning) or 0)
        for name, value in measure.beside([row.name for row in table], pinning, a.seconds).items():
            if value is not None:
                found.setdefault((name, builds[0]), []).append(value)
        print(f"round {n + 1} of {a.rounds}", file=sys.stderr)
    return found


def _show(table, found, build):
    """The table of medians."""
    medians = {name: statistics.median(v) for (name, b), v in found.items() if b == build}
    for name, what in (("rtt", "round trip of a cache line"), ("memcpy", "memcpy of 128 KiB"), ("ping-pong", "socket ping-pong")):
        if name in medians:
            print(f"{what}: {medians[name]:.0f} ns")
    print(f"{'row':16} {'ns an I/O':>9} {'lowest':>8} {'bar':>8}  ")
    for row in table:
        bar, said = "", ""
        if row.bar:
            try:
                bar = f"{row.bar[1](medians):.0f}"
                said = f" (bar: {row.bar[0]})"
            except LookupError:
                pass
        print(f"{row.name:16} {medians[row.name]:9.0f} {min(found[row.name, build]):8.0f} {bar:>8}  {row.title}{said}")


def _compare(table, found, builds):
    """Each row of both builds: medians, and the change with its interval."""
    print(f"{'row':16} {'there':>8} {'here':>8} {'change':>8}  95 % CI, round trip beside")
    for row in table:
        there, here = found[row.name, builds[1]], found[row.name, builds[0]]
        c = ranks.paired(there, here)
        interval = f"{c.low:+.1f} % to {c.high:+.1f} %" if c.enough else f"too few rounds, {ranks.FEWEST_PAIRS} are needed"
        print(f"{row.name:16} {statistics.median(there):8.0f} {statistics.median(here):8.0f} {c.estimate:+7.1f}%  {interval},"
              f" {statistics.median(found['rtt beside', row.name]):.0f} ns")


def main(argv):
    """Measure and print; returns the exit status."""
    a, table = _parse(argv)
    builds = [paths.dataplane_dir()] + ([Path(a.against).resolve()] if a.against else [])
    try:
        found = _rounds(a, table, builds, cpus.choose(a.cpus))
    except Refused as err:
        print(f"bench: {err}", file=sys.stderr)
        return err.status
    if a.against:
        _compare(table, found, builds)
    else:
        _show(table, found, builds[0])
    return 0

