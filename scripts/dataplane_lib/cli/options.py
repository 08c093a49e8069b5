# SPDX-License-Identifier: GPL-2.0-only
"""Options that several commands take: what they are called, and what they make of a study."""

import argparse
import re

from .. import paths, units
from . import own_job
from ..host import rtt
from ..model import metrics, study, studyfile, targets
from ..run import client
from ..errors import CommandLine, Refused

JOB_HELP = "an fio job file, or a study whose job, variables and target are taken: a path, or a name that list shows"


def add(sub, target_help):
    """Give SUB what every command that runs a job of the user's has."""
    sub.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="variables",
                     help="give a ${NAME} of the job file a value; repeatable (default: the study's [variables])")
    sub.add_argument("--target", default="", metavar="'OPTIONS'", help=target_help)
    sub.add_argument("--runtime", metavar="S", help="time measured in a run, in s, or such as 500ms (default: the study's, or 2 s)")
    sub.add_argument("--ramp", metavar="S", help="time before that, not measured, in s, or such as 500ms (default: the study's, or 0.3 s)")
    sub.add_argument("--file", metavar="SIZE", help="size of the file full of data that runs get as $file, in bytes, or such as 64k, 256m; SIZE,holes for a sparse one "
                     "(default: the study's, or no file)")
    sub.add_argument("--client", metavar="HOST,…", help="run the job on these fio servers, each HOST, HOST:PORT or sock:PATH; see docs/studies.md "
                     "(default: on this machine)")
    add_place(sub)


def add_trace(sub):
    """Give SUB the traces of both sides."""
    sub.add_argument("--trace", action="store_true",
                     help="have both sides write down what happens to requests, as far as they are ours, and say in which stage the difference is; it costs "
                     "some 25 ns an event (default: if the job file uses ${dp_trace})")


def add_factors(sub):
    """Give SUB what commands that may have any number of arms have."""
    sub.add_argument("--vary", action="append", default=[], metavar="NAME=A,B,…",
                     help="a factor: a ${NAME} of the job file, else the target's --NAME; repeatable (default: the study's factors)")
    sub.add_argument("--repeats", type=units.whole, metavar="N", help="counted runs of each arm (default: the study's, or 3)")
    sub.add_argument("--warmup", type=units.whole, metavar="N", help="runs to discard first (default: the study's, or 1)")


def add_baseline(sub, default):
    """Give SUB the choice of what all arms are compared with."""
    sub.add_argument("--baseline", metavar="NAME=VALUE[,…]", help=f"the arm to compare with, e.g. poll=off (default: {default})")


def apply_baseline(chosen, args):
    """What add_baseline() took, applied to CHOSEN."""
    if args.baseline:
        chosen.baseline = dict(pair(p, "--baseline") for p in args.baseline.split(","))


def add_program(sub):
    """Give SUB the choice of a target."""
    sub.add_argument("--program", metavar="NAME",
                     help=f"{targets.VHOST} or {targets.NBD} (default: the one that the job's engine talks to)")


def add_place(sub):
    """Give SUB the CPUs, and the place of the result."""
    sub.add_argument("--cpus", metavar="FIO,TARGET", help="the two CPUs, or none to leave both sides to the scheduler (default: chosen, see doctor)")
    sub.add_argument("--keep-raw", action="store_true", help="keep the files of each run, in raw/ (default: only the file they are put into)")
    sub.add_argument("--out", metavar="DIR", help="directory of the result (default: results/DATE-NAME)")
    sub.add_argument("--seed", type=units.whole, metavar="N",
                     help="draw the order of runs from N, 0 or more, as an earlier result has it (default: drawn, and kept in the result)")


class _Metric(argparse.Action):
    """Stores the metric; 'list' prints all of them and ends the program, as --help does."""

    def __call__(self, parser, namespace, values, option_string=None):
        if values == "list":
            print(metrics.listed())
            parser.exit(0)
        setattr(namespace, self.dest, values)


def add_primary(sub, default):
    """Give SUB the choice of the metric that decides."""
    sub.add_argument("--primary", metavar="METRIC", action=_Metric,
                     help=f"the metric that decides, named beforehand; 'list' lists all with their units (default: {default})")


def wakeup(text, pinning):
    """What --wakeup says in ns, else what is measured on the two CPUs."""
    if text is None:
        return rtt.wakeup(pinning)
    given = units.number(text)
    if not given:
        raise Refused(f"--wakeup {text}: expected a time such as 5us")
    return given


def add_gate(sub, until="", runs=True):
    """Give SUB the limits that scripts ask about; one that makes RUNS may keep what they came to."""
    sub.add_argument("--fail-if", action="append", default=[], metavar="'METRIC < LIMIT'",
                     help="exit 1 if true, 0 if not, 4 if inconclusive. LIMIT is a change against the baseline, such as -2%% or +5%%, or a figure of the arm itself, such as "
                     "200us; repeatable, and then judged together (default: none)")
    sub.add_argument("--dead-band", metavar="PCT",
                     help=f"changes by so much beyond a limit, in %% points, are let pass{until}; of a figure, in %% of the limit (default: 1)")
    if runs:
        add_history(sub, "put the result into this store, gated or not, see history (default: with --fail-if results/history.db, or what FIO_DATAPLANE_HISTORY says)")
        sub.add_argument("--no-history", action="store_true", help="put the result into no store")
    sub.add_argument("--bisect", action="store_true",
                     help="exit statuses for git bisect run: 125 if nothing could be measured or decided, 129 for mistakes (default: if that is found to be the caller)")
    sub.add_argument("--no-bisect", action="store_true", help="the usual exit statuses under git bisect run too")


def add_history(sub, text):
    """Give SUB the choice of a store."""
    sub.add_argument("--history", metavar="FILE", help=text)


def history(args):
    """(store, whether the result belongs into it: True, False, or None if it is gated) of what add_gate() or add_history() took."""
    if getattr(args, "no_history", False):
        if args.history:
            raise CommandLine("--history and --no-history exclude each other")
        return None, False
    given = getattr(args, "history", None)
    measured = hasattr(args, "fail_if")
    return (given, measured) if given else (paths.history(), None if measured else False)


def apply_gate(chosen, args):
    """What add_gate() took, applied to CHOSEN; returns the Limits."""
    from ..judge import gate  # scipy takes a while, and --help has no need of it
    chosen.fail_if, chosen.dead_band = args.fail_if, dead_band(args)
    return gate.parse(chosen.fail_if, chosen.dead_band)


def dead_band(args, usual=1.0):
    """The dead band, a number of per cent of 0 or more."""
    if args.dead_band is None:
        return usual
    value = units.number(args.dead_band.rstrip("% "))
    if value is None or value < 0:
        raise CommandLine(f"--dead-band {args.dead_band}: expected a number of per cent, 0 or more")
    return value


def _percentiles(text):
    """The numbers of --percentiles, which are computed from here on."""
    found = [units.number(word.strip().removeprefix("p")) for word in text.split(",")]
    if not all(p and 0 < p < 100 and re.fullmatch(r"p?[0-9.]+", word.strip()) for p, word in zip(found, text.split(","))):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of percentages above 0 and below 100, such as 50,99,99.95")
    metrics.want(found)
    return sorted(set(found))


def add_view(sub):
    """Give SUB how much of a result is printed."""
    sub.add_argument("--percentiles", type=_percentiles, metavar="P,…", default=[],
                     help="latency percentiles to show, such as 50,99,99.95 (default: 50,90,95,99,99.9,99.99)")
    sub.add_argument("-v", "--verbose", action="store_true", help="print every warning, sentence and arm (default: a summary)")
    sub.add_argument("--json", metavar="FILE", help="write the result as JSON, as result.json has it; - prints it and nothing else (default: only in the result)")
    sub.add_argument("--summary", choices=("markdown",), help="print the result in this form and no other, for a CI's step summary (default: for a terminal)")
    sub.add_argument("--junit", metavar="FILE", help="write a JUnit report, a test case for each --fail-if (default: none)")
    sub.add_argument("--wide", action="store_true", help="print all columns: latency, CPU, notifications (default: at most 80 characters a line)")


def pair(text, option, form="NAME=VALUE"):
    """(name, value) of TEXT, which was given to OPTION."""
    name, sep, value = text.partition("=")
    if not sep or not name or not value:
        raise Refused(f"{option} {text}: expected {form}")
    return name, value


def apply_factors(chosen, args):
    """What add_factors() took, applied to CHOSEN."""
    for text in args.vary:
        name, values = pair(text, "--vary", "NAME=A,B,…")
        chosen.vary(name, study.words(values.split(","), f"--vary {name}"))
    for key in ("repeats", "warmup"):
        if getattr(args, key) is not None:
            setattr(chosen, key, getattr(args, key))


def apply(chosen, args, names=(), fit=own_job.as_it_is):
    """What add() took, applied to CHOSEN; what it comes to is for finish() to check.

    NAMES are what else is varied; FIT(chosen, args, names) has the job fitted, and returns its path.
    """
    for text in args.variables:
        chosen.fix(*pair(text, "--set"))
    if args.target:
        chosen.server = chosen.server.changed({"options": args.target}, "--target")
    names = [*names, *chosen.all_factors(), *(chosen.baseline or {}), *(text.partition("=")[0] for text in args.variables)]
    names = [name for name in names if name not in chosen.choices]
    chosen.job = fit(chosen, args, names)
    own_job.surroundings(chosen, names)
    for name in ("runtime", "ramp"):
        given = getattr(args, name)
        if given is not None:
            setattr(chosen, name, units.seconds(given, f"--{name}"))
            if name not in chosen.job_variables():
                raise Refused(f"--{name}: {chosen.job.name} runs once through its data (verify=, iologs), or does not use ${{{name}}}")
    if args.runtime is not None:
        chosen.sample = min(chosen.sample, chosen.runtime / 4)
    if args.file is not None:
        chosen.file, chosen.fill = studyfile.file_size(args.file, "--file")


def apply_seed(chosen, args):
    """What add_place() took for the order of runs, applied to CHOSEN."""
    if args.seed is not None:
        if args.seed < 0:
            raise Refused(f"--seed {args.seed}: must be 0 or more")
        chosen.seed = args.seed


def finish(chosen, args):
    """Refuse what CHOSEN cannot be run with, now that all is said; its jobs go where --client says."""
    own_job.end(args)
    apply_seed(chosen, args)
    studyfile.check(chosen)
    chosen.percentiles = list(getattr(args, "percentiles", ()))
    chosen.trace = getattr(args, "trace", False)
    if args.client is not None:
        chosen.clients = client.parse(args.client)
        client.check_study(chosen)
    silent = [arm.name for arm in chosen.arms() if not any(chosen.traces(chosen.setup(arm)))] if chosen.trace else []
    if silent:
        raise Refused(f"--trace: neither fio's engine nor the target of {silent[0]} is one of this project's, so nobody would write a trace")


def view(args):
    """What add_view() took."""
    from ..report import terminal  # and scipy with it, which takes longer than all that is done before it is needed
    if args.summary and args.json == "-":
        raise CommandLine("--json - and --summary exclude each other: both are all that is printed")
    return terminal.View(args.wide, args.verbose, args.json, args.summary, args.junit, tuple(args.percentiles))
