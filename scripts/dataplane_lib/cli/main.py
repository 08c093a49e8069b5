# SPDX-License-Identifier: GPL-2.0-only
"""The command line of dataplane."""

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path

from .. import paths, units
from . import ab, doctor, match, matrix, options
from .execute import execute
from ..model import peers, studyfile
from ..report import export, write
from ..run import session
from ..errors import Refused

_EXAMPLES = """\
examples:
  dataplane doctor
  dataplane run poll-max-ns --short
  dataplane sweep jobfiles/vhost-user-blk.fio --vary poll-max-ns=0,4096,131072 \\
            --target '--backend null --delay fixed:20us --poll fixed'
  dataplane report results/2026-11-30-poll-max-ns
"""


class _Parser(argparse.ArgumentParser):
    """A mistake is one line on stderr and exit status 1."""

    def error(self, message):
        sys.stderr.write(f"{self.prog}: {message}\n")
        sys.exit(1)


def _parser():
    parser = _Parser(prog="dataplane", allow_abbrev=False, epilog=_EXAMPLES,
                     description="Run studies of virtual-disk dataplanes and report them.",
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name, text, run):
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(run=run)
        return sub

    run = command("run", "run a study: a name under jobfiles/, or a path to a study.toml", _run)
    run.add_argument("study", metavar="STUDY")
    run.add_argument("--short", action="store_true", help="the study's short form ([short] in study.toml)")
    run.add_argument("--peer", action="append", default=[], metavar="NAME=PATH",
                     help="run the arms of the program NAME with the binary at PATH too; repeatable")
    options.add_factors(run)
    options.add(run, "target options added to the study's; the same option replaces it")

    sweep = command("sweep", "vary options of the target, or variables of a job file, and compare", _sweep)
    sweep.add_argument("job", metavar="JOB", help=options.JOB_HELP)
    sweep.add_argument("--baseline", metavar="NAME=VALUE[,…]",
                       help="the arm to compare with, e.g. poll=off (default: the first)")
    sweep.add_argument("--primary", metavar="METRIC", help="the metric that decides, named beforehand (default: iops, or that of the study)")
    options.add_program(sweep)
    options.add_factors(sweep)
    options.add(sweep, "the target's options, e.g. '--backend null --delay fixed:20us'")

    ab.add(command)
    matrix.add(command)
    match.add(command)
    report = command("report", "print a result again and write its report anew", _report)
    report.add_argument("result", metavar="RESULT", help="a directory that run, sweep or ab made")
    both = command("compare", "compare two results, of different times or machines", _compare)
    both.add_argument("before", metavar="RESULT")
    both.add_argument("after", metavar="RESULT")
    both.add_argument("--out", metavar="DIR", help="where the report goes (default: results/DATE-compare-NAME)")
    shown = command("percentiles", "draw latency distributions, of several arms and results over each other", _percentiles)
    shown.add_argument("result", nargs="+", metavar="RESULT")
    shown.add_argument("--arm", action="append", default=[], metavar="ARM", help="an arm by its name, or a pattern such as '*=off*'; "
                       "repeatable (default: all)")
    shown.add_argument("--job", metavar="NAME", help="one job of the job file only")
    shown.add_argument("-o", "--out", metavar="FILE", help="where to, as FILE.svg and FILE.png (default: percentiles in RESULT, "
                       "in the current directory for several)")
    traced = command("trace", "show where the time of requests goes: files of dp_trace= and --trace, of one side or of both", _trace)
    traced.add_argument("file", nargs="+", metavar="FILE")
    traced.add_argument("--timeline", type=units.whole, default=0, metavar="N",
                        help="also print the events of N requests of median lifetime, and of the N slowest")
    traced.add_argument("--csv", action="store_true", help="print the stages as comma-separated values, times in ns, and nothing else")
    rows = command("export", "every run of a result as a row, for pandas and spreadsheets", _export)
    rows.add_argument("result", metavar="RESULT")
    kind = rows.add_mutually_exclusive_group()
    kind.add_argument("--csv", action="store_true", help="comma-separated (the default)")
    kind.add_argument("--json", action="store_true", help="a list of objects")
    rows.add_argument("--out", metavar="FILE", help="where to (default: stdout)")
    check = command("selftest", "feed the statistics made-up runs of known truth, and check what they say", _selftest)
    check.add_argument("--repetitions", type=units.whole, default=2000, metavar="N", help="of the cheapest checks (default: %(default)s)")
    check.add_argument("--seed", type=units.whole, default=1, metavar="N", help="of the random numbers (default: %(default)s)")
    command("list", "list the studies and the example job files", _list)
    command("doctor", "say what on this host will spoil a measurement", lambda args: doctor.examine())
    command("env", "print the environment that job files need, for eval", _env)
    return parser


def _run(args):
    chosen = studyfile.load(studyfile.find(args.study), args.short)
    for text in args.peer:
        peers.add(chosen, text)
    _execute(chosen, args)


def _sweep(args):
    chosen = studyfile.lent(args.job, args.program)
    chosen.title = f"sweep of {chosen.name}"
    chosen.name = f"sweep-{chosen.name.removesuffix('.fio')}"
    chosen.primary = args.primary or chosen.primary
    if args.baseline:
        chosen.baseline = dict(options.pair(p, "--baseline") for p in args.baseline.split(","))
    _execute(chosen, args)


def _execute(chosen, args):
    options.apply_factors(chosen, args)
    options.apply(chosen, args)
    options.finish(chosen, args)
    execute(chosen, args)


def _result(text):
    """The directory of a result: a path, or its name under results/."""
    for path in (Path(text), paths.results() / text):
        if (path / "meta.json").exists():
            return path.resolve()
    raise Refused(f"{text}: is no result (a directory with a meta.json), here or in {paths.results()}")


def _report(args):
    write.report(_result(args.result))


def _compare(args):
    from ..judge import compare  # scipy takes a while, and other commands have no need of it
    compare.compare(_result(args.before), _result(args.after), args.argv, args.out)


def _percentiles(args):
    from ..report import percentiles
    percentiles.command([_result(text) for text in args.result], args.arm, args.job, args.out)


def _trace(args):
    from ..trace import show  # numpy takes a while, and other commands have no need of it
    if args.timeline < 0:
        raise Refused(f"--timeline {args.timeline}: wants 0 or more")
    show.run(args)


def _export(args):
    export.export(_result(args.result), args.json, args.out)


def _selftest(args):
    from ..stats import selftest
    if args.repetitions < 200:
        raise Refused(f"--repetitions {args.repetitions}: wants 200 or more, or no rate can be told")
    return selftest.run(args.repetitions, args.seed)


def _list(_args):
    print(f"{'':<20} {'full':>6} {'short':>6}")
    for path in studyfile.all_studies():
        known = studyfile.load(path)
        try:
            short = _takes(studyfile.load(path, True))
        except Refused:
            short = "-"
        title = known.title.removeprefix(f"{known.name}: ")
        print(f"{known.name:<20} {_takes(known):>6} {short:>6}  {title} "
              f"({len(known.arms())} arms, {known.repeats} repeats)")
    for path in studyfile.all_jobs():
        try:
            studyfile.check_job(path)
            what = "fio, sweep and ab"
        except Refused:
            what = "fio by itself"
        print(f"{path.name:<20} {'-':>6} {'-':>6}  a job file, for {what}")


def _takes(known):
    """About how long a study runs where nothing of it is left out."""
    arms = known.arms()
    return units.duration((len(arms) * known.repeats + known.warmup) * session.seconds_each(known, arms))


def _env(_args):
    if paths.elsewhere():
        print(f"dataplane: FIO_DATAPLANE is {paths.elsewhere()} already, and stays so; unset it first for {paths.own_dir()}", file=sys.stderr)
    print(f"export FIO_DATAPLANE={shlex.quote(str(paths.dataplane_dir()))}")


def _stop(_number, _frame):
    raise KeyboardInterrupt


def main(argv):
    """Run the command; returns the exit status."""
    args = _parser().parse_args(argv)
    args.argv = argv
    signal.signal(signal.SIGTERM, _stop)
    # A terminal that goes away must not keep targets, and what --restore restores, from their end; nohup means go on.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _stop)
    try:
        return args.run(args) or 0
    except Refused as err:
        print(f"dataplane: {err}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dataplane: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output went away; nothing may be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as err:
        print(f"dataplane: {err.filename + ': ' if err.filename else ''}{err.strerror or err}", file=sys.stderr)
        return 1
