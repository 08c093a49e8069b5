# SPDX-License-Identifier: GPL-2.0-only
"""dataplane advise: which poll policy and window suit a run, predicted from the waits that it recorded."""

import argparse
from pathlib import Path

from .. import units
from . import for_json, options
from .execute import execute
from ..errors import Refused
from ..host import cpus
from ..model import server, study
from ..read import store
from ..run import replay

_POLLING = ("poll", "poll-max-ns")
# How the runs of --check are printed.
_VIEW = {"json": None, "summary": None, "junit": None, "verbose": False, "percentiles": []}


def add(command, find):
    """Add advise to the command line; COMMAND(name, text, run) makes a parser, FIND(text) is the directory of a result."""
    sub = command("advise", "say which poll policy and window suit a run", lambda args: _run(args, find))
    sub.add_argument("result", metavar="RESULT", help="a result with our target: a directory, or its name under results/")
    sub.add_argument("--arm", metavar="ARM", help="the arm whose waits are taken, by its name (default: the first that recorded any)")
    sub.add_argument("--wakeup", metavar="TIME", help="until a sleeping iothread runs, such as 5us (default: measured on the two CPUs)")
    sub.add_argument("--check", action="store_true", help="run the advice beside off, busy and half and twice its window, and compare (default: predict only)")
    sub.add_argument("--repeats", type=units.whole, default=5, metavar="N", help="with --check: runs of each arm (default: %(default)s)")
    options.add_place(sub)
    for_json.add(sub)
    sub.add_argument("--wide", action="store_true", help="print all columns (default: at most 80 characters a line)")


def _run(args, find):
    with for_json.delivered(args, "advise") as data:
        _tell(args, find, data)


def _tell(args, find, data):
    """Print the advice, and put it into DATA."""
    from ..judge import advise  # keeps the others quick to start
    place = find(args.result)
    stored = store.load(place)
    wakeup = _wakeup(args)
    arm, waits = _recorded(advise, stored, args.arm, wakeup)
    found = advise.plans(waits, lambda these: replay.replay(waits.counts, these, wakeup), wakeup, advise.candidates())
    advice = advise.best(found)
    data.update(arm=arm["name"], wakeup_ns=wakeup, waits={"per_io": waits.per, "in_flight_share": waits.share(1), "median_ns": waits.quantile(0.5), "p90_ns": waits.quantile(0.9)},
                predicted=[_as_dict(plan) for plan in found], advice=_as_dict(advice))
    print("\n".join([f"waits of {arm['name']}: {_said(waits)}; a wake-up takes {units.time(wakeup)}", ""]))
    _show(_table(advise.best_of_each(found), advice), args)
    _sentences(waits, found, advice)
    if args.check:
        data.update(_check(args, place, stored, arm, advise, waits, wakeup, advice))


def _as_dict(plan):
    return {"policy": plan.policy, "poll_max_ns": plan.max_ns, "covered": plan.covered, "iops": plan.iops, "cpu_ns_per_io": plan.cpu, "cpu_percent": plan.share}


def _wakeup(args):
    pinning = cpus.choose(None if args.cpus == "none" else args.cpus)
    if pinning.fio is None and args.wakeup is None:
        raise Refused("advise: give --wakeup TIME; on a host with one CPU it cannot be measured")
    return options.wakeup(args.wakeup, pinning)


def _recorded(advise, stored, wanted, wakeup):
    """(arm, Waits) of the arm called WANTED, or of the first with waits."""
    names = [arm["name"] for arm in stored.header["arms"]]
    if wanted is not None and wanted not in names:
        raise Refused(f"--arm {wanted}: no such arm; accepted: {units.listed(names)}")
    why = None
    for arm in stored.header["arms"]:
        if wanted in (None, arm["name"]):
            try:
                return arm, advise.recorded(stored.of_arm(arm["name"]), wakeup)
            except Refused as err:
                why = why or err
    raise why


def _said(waits):
    kinds = [(name, waits.share(kind), waits.quantile(0.5, kind)) for kind, name in ((1, "with requests in flight"), (0, "without"))]
    return f"{waits.per:.2f} per I/O, " + ", ".join(f"{100 * share:.0f} % {name} (median {units.time(middle)})" for name, share, middle in kinds if share)


def _table(rows, advice):
    head = ["policy", "poll-max-ns", "covers", "IOPS", "CPU", "CPU/I/O"]
    return dict(head=head, rows=[[p.policy + (" *" if p.policy == advice.policy else ""), "-" if p.max_ns == 1 else str(p.max_ns), f"{100 * p.covered:.0f} %",
                               units.short(p.iops), f"{p.share:.0f} %", units.time(p.cpu)] for p in rows],
                       title="predicted; of each policy the window with the least CPU among its fastest", note="* is the advice. CPU is the target's, 100 % being one CPU.")


def _sentences(waits, found, advice):
    window = waits.quantile(0.9)
    fixed = min((p for p in found if p.policy == "fixed" and p.max_ns >= window), key=lambda p: p.max_ns, default=None)
    if fixed:
        print(f"* A fixed window of {units.time(window)} covers 90 % of the waits; {fixed.max_ns} ns does so at {fixed.share:.0f} % CPU.")
    off = next(p for p in found if p.policy == "off")
    gain = units.rounded(100 * (advice.iops / off.iops - 1))
    print(f"* Advice: --poll {advice.policy}" + ("" if advice.max_ns == 1 else f" --poll-max-ns {advice.max_ns}")
          + f": {gain} IOPS at {advice.share:.0f} % CPU (off: {off.share:.0f} %), predicted.")


def _check(args, place, stored, arm, advise, waits, wakeup, advice):
    """Run the advice and its neighbours; print what was predicted for them beside what came out, and return it."""
    windows = {} if advice.max_ns == 1 else {"poll-max-ns": [str(w) for w in (advice.max_ns // 2, advice.max_ns, 2 * advice.max_ns)]}
    chosen = _study(place, stored, arm)
    chosen.groups = [{"poll": ["off", "busy"]}] if advice.policy not in ("off", "busy") else [{"poll": [p for p in ("off", "busy") if p != advice.policy]}]
    chosen.groups.append({"poll": [advice.policy], **windows})
    chosen.baseline, chosen.repeats = None, args.repeats
    options.finish(chosen, args)
    directory = execute(chosen, argparse.Namespace(**{**vars(args), **_VIEW}))[0]
    made = store.load(directory)
    tried = [(a, *advise.policy_of(a["values"], chosen.server.options)) for a in made.header["arms"]]
    told = advise.plans(waits, lambda these: replay.replay(waits.counts, these, wakeup), wakeup, [(name, int(window)) for _, name, window in tried])
    rows, checked = [], []
    for (each, _, _), plan in zip(tried, told):
        seen = advise.measured(made.of_arm(each["name"]))
        checked.append({"arm": each["name"], "predicted": _as_dict(plan), "measured": {"iops": seen.iops, "cpu_percent": seen.share}})
        rows.append([each["name"], units.short(plan.iops), units.short(seen.iops), units.percent(100 * (plan.iops / seen.iops - 1), 0),
                     f"{plan.share:.0f} %", f"{seen.share:.0f} %"])
    _show(dict(head=["arm", "IOPS predicted", "measured", "error", "CPU predicted", "measured"], rows=rows, title="the advice tried"), args)
    return {"check": checked, "directory": str(directory)}


def _study(place, stored, arm):
    """What the arm ran, without its polling."""
    told = stored.header["study"]
    if not told["program"]:
        raise Refused(f"{arm['name']}: --check needs a target of ours, not a command")
    out = study.Study(name=f"advise-{told['name']}", job=Path(place) / told["job"], title=f"advice for {arm['name']}", primary="iops",
                      variables=dict(told["variables"]), choices=told["choices"], runtime=told["runtime"], ramp=told["ramp"], pin=told["pin"],
                      file=told["file"], fill=told["fill"])
    kept = [(k, v) for k, v in server.options(told["options"]).items() if k not in _POLLING]
    out.server = server.Server(program=told["program"], options=[word for k, v in kept for word in (f"--{k}", v) if word])
    out.factors = {k: [v] for k, v in arm["values"].items() if k not in _POLLING}
    return out


def _show(one, args):
    from ..report import table, terminal  # see options.view()
    print("\n".join([*terminal.lines(table.Table(**one), None if args.wide else terminal.WIDTH), ""]))
