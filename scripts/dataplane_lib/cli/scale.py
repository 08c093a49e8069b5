# SPDX-License-Identifier: GPL-2.0-only
"""dataplane scale: what more queues, iothreads and CPUs would bring, by simulation."""

import statistics
from dataclasses import asdict, replace

from .. import units
from . import for_json, options
from ..errors import Refused
from ..host import cpus, rtt

_NS = ("driver", "device")


def add(command, find):
    """Add scale to the command line; COMMAND(name, text, run) makes a parser, FIND(text) is the directory of a result."""
    sub = command("scale", "predict IOPS for more queues, iothreads and CPUs", lambda args: _run(args, find))
    sub.add_argument("result", metavar="RESULT", nargs="?",
                     help="take what a request costs from this result (of multi-queue, or any with dp_stats), and show each arm's figure beside its prediction (default: none)")
    sub.add_argument("--queues", default="1,2,4,8", metavar="A,B,…", help="virtqueues, each with a job (default: %(default)s)")
    sub.add_argument("--iothreads", default="1,2,4,8", metavar="A,B,…", help="iothreads, up to the queues (default: %(default)s)")
    sub.add_argument("--host-cpus", default="2,8,32,128", metavar="A,B,…", help="CPUs for both sides (default: %(default)s)")
    sub.add_argument("--inflight", type=units.whole, default=256, metavar="N", help="requests in flight, over all queues (default: %(default)s)")
    sub.add_argument("--driver", metavar="TIME", help="CPU that a request takes in fio, such as 210ns (default: the result's)")
    sub.add_argument("--device", metavar="TIME", help="CPU that a request takes in its iothread, such as 60ns or 2us (default: the result's)")
    sub.add_argument("--wakeup", metavar="TIME", help="until a sleeping thread runs, such as 5us (default: measured on the two CPUs)")
    sub.add_argument("--cpus", metavar="FIO,TARGET", help="the two CPUs whose distance is measured (default: chosen, see doctor)")
    for_json.add(sub)
    sub.add_argument("--wide", action="store_true", help="print all columns (default: at most 80 characters a line)")


def _run(args, find):
    with for_json.delivered(args, "scale") as data:
        _tell(args, find, data)


def _tell(args, find, data):
    """Print the predictions, and put them into DATA."""
    from ..judge import scale  # keeps the others quick to start
    from ..read import store
    costs = _costs(args)
    rows = []
    if args.result:
        costs, rows = scale.measured(store.load(find(args.result)), costs)
        costs = _given(costs, args)
    elif None in (args.driver, args.device):
        raise Refused("scale: give RESULT, or --driver and --device")
    shapes = scale.shapes(*(_numbers(getattr(args, name), f"--{name.replace('_', '-')}") for name in ("queues", "iothreads", "host_cpus")), args.inflight)
    if not shapes:
        raise Refused("--iothreads: every value is more than --queues; a queue has one iothread")
    grid = scale.predicted(shapes, costs)
    data.update(costs_ns=asdict(costs), measured=[_row(r) for r in rows], predicted=[_row(r) for r in grid])
    print("\n".join([_said(costs), ""]))
    if rows:
        _show(_compared(rows), args)
        print(f"* Median error of {len(rows)} predictions: {statistics.median(abs(r.error) for r in rows):.0f} %"
              f" (largest {max(abs(r.error) for r in rows):.0f} %).\n")
    _show(_grid(grid), args)


def _costs(args):
    """What this host's CPUs say, with what the command line says of requests."""
    from ..stats import scale
    pinning = cpus.choose(args.cpus)
    trip = rtt.measure(pinning)
    if trip is None:
        raise Refused("scale: this host has one CPU; the distance of two is needed")
    return _given(scale.Costs(driver=0.0, device=0.0, rtt=trip, wakeup=options.wakeup(args.wakeup, pinning)), args)


def _given(costs, args):
    told = {name: units.number(getattr(args, name)) for name in _NS if getattr(args, name) is not None}
    for name, value in told.items():
        if not value or value < 1:
            raise Refused(f"--{name} {getattr(args, name)}: expected a time of 1 ns or more, such as 210ns")
    return replace(costs, **told)


def _numbers(text, option):
    """[1, 2, 4] from "1,2,4"."""
    values = text.split(",")
    if not all(v.isdecimal() and 1 <= int(v) <= 1024 for v in values):
        raise Refused(f"{option} {text}: expected whole numbers from 1 to 1024, such as 1,2,4")
    return [int(v) for v in values]


def _said(costs):
    return (f"a request: {units.time(costs.driver)} of CPU in fio, {units.time(costs.device)} in its iothread; "
            f"round trip {units.time(costs.rtt)}, wake-up {units.time(costs.wakeup)}")


def _compared(rows):
    """Every arm that was measured, beside what the simulation says of it."""
    head = ["arm", "measured", "predicted", "error", "limit"]
    return dict(head=head, rows=[[r.arm, units.short(r.measured), units.short(r.outcome.iops), units.percent(r.error, 0), r.outcome.limit()] for r in rows],
                       title="IOPS measured here and predicted")


def _grid(rows):
    """A row for each number of queues and iothreads, a column for each number of CPUs."""
    counts = sorted({r.shape.cpus for r in rows})
    found = {(r.shape.queues, r.shape.iothreads, r.shape.cpus): r.outcome for r in rows}
    out = []
    for queues, iothreads in dict.fromkeys((r.shape.queues, r.shape.iothreads) for r in rows):
        outcomes = [found[queues, iothreads, n] for n in counts]
        out.append([str(queues), str(iothreads), *(f"{units.short(o.iops)} {o.limit()}" for o in outcomes)])
    return dict(head=["queues", "iothreads", *(f"{n} CPUs" for n in counts)], rows=out, title="IOPS predicted, and what limits them",
                       note="A simulation: see docs/scale.md for what it leaves out.")


def _row(r):
    return {"arm": r.arm or None, **asdict(r.shape), "measured_iops": r.measured, "predicted_iops": r.outcome.iops, "limit": r.outcome.limit(),
            **{f"{name}_busy": getattr(r.outcome, f"{name}_busy") for name in ("driver", "device", "cpu", "ceiling")}}


def _show(one, args):
    from ..report import table, terminal  # see options.view()
    print("\n".join([*terminal.lines(table.Table(**one), None if args.wide else terminal.WIDTH), ""]))
