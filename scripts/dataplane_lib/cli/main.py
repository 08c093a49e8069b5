# SPDX-License-Identifier: GPL-2.0-only
"""The command line of dataplane."""

import shlex
import signal
import sys
from pathlib import Path

from .. import files, paths, units
from . import ab, advise, baseline, bind, bisect, compare, doctor, doctor_ci, for_json, history, match, matrix, options, own_job, parser, scale, selfcheck, status
from .execute import execute
from .device import add as add_device
from ..host import system
from ..model import configuration, peers, studyfile
from ..read import store
from ..errors import NOT_MEASURED, Refused

_ABOUT = "Run studies of virtual-disk dataplanes and report them."
_MORE = """\
'dataplane COMMAND --help' lists a command's options, --version the version.
Exit status: 0 success, 1 measured regression (--fail-if), 2 wrong usage,
3 could not measure, 4 inconclusive (--fail-if), 130 interrupted; others
under git bisect run: 'dataplane help exit-codes' has all of them.

examples:
  dataplane doctor
  dataplane run poll-max-ns --short
  dataplane sweep jobfiles/vhost-user-blk.fio --vary poll-max-ns=0,4096,131072 \\
            --target '--backend null --delay fixed:20us --poll fixed'
  dataplane report results/2026-11-30-poll-max-ns
"""


def commands():
    """Every command, with its parser."""
    out = parser.Commands("dataplane", _ABOUT, _MORE)
    out.topics["exit-codes"] = status.HELP
    out.group("measure")
    run = out.add("run", "run a study, by its name or a path to a study.toml", _run)
    run.add_argument("study", metavar="STUDY", help="a name that list shows, or a path to a study.toml")
    run.add_argument("--short", action="store_true", help="the study's short form ([short] in study.toml)")
    run.add_argument("--peer", action="append", default=[], metavar="NAME=PATH",
                     help="also run the arms of the program NAME with the binary at PATH; repeatable (default: none)")
    run.add_argument("--job", metavar="JOB", help="an fio job file to run in the place of the study's, whose question and target stay (default: the study's)")
    own_job.add(run)
    options.add_baseline(run, "the study's")
    options.add_factors(run)
    options.add_trace(run)
    options.add_gate(run)
    options.add_view(run)
    options.add(run, "target options added to the study's, replacing equal ones (default: none)")
    sweep = out.add("sweep", "vary target options or job variables, and compare", _sweep)
    sweep.add_argument("job", metavar="JOB", help=options.JOB_HELP)
    options.add_baseline(sweep, "the first")
    options.add_primary(sweep, "iops, or that of the study")
    options.add_program(sweep)
    own_job.add(sweep)
    options.add_factors(sweep)
    options.add_trace(sweep)
    options.add_gate(sweep)
    options.add_view(sweep)
    options.add(sweep, "the target's options, e.g. '--backend null --delay fixed:20us' (default: a null device without delay)")
    ab.add(out.add)
    matrix.add(out.add)
    match.add(out.add)
    add_device(out.add)
    bisect.add(out.add)

    out.group("read results")
    report = out.add("report", "print a result again and write its report anew", _report)
    report.add_argument("result", metavar="RESULT", help="a directory that run, sweep or ab made, or its name under results/")
    options.add_history(report, "the store whose nights the page shows, see history (default: results/history.db, or what FIO_DATAPLANE_HISTORY says)")
    options.add_view(report)
    compare.add(out.add, _result)
    baseline.add(out.add, _result)
    shown = out.add("percentiles", "draw latency distributions of arms and results", _percentiles)
    shown.add_argument("result", nargs="+", metavar="RESULT", help="directories of results, or their names under results/")
    shown.add_argument("--arm", action="append", default=[], metavar="ARM",
                       help="an arm by its name, or a pattern such as '*=off*'; repeatable (default: all)")
    shown.add_argument("--job", metavar="NAME", help="one job of the job file only (default: all together)")
    shown.add_argument("-o", "--out", metavar="FILE",
                       help="FILE.svg and FILE.png are written (default: percentiles in RESULT; in . for several results)")
    for_json.add(shown)
    traced = out.add("trace", "show where requests spend their time", _trace)
    traced.add_argument("file", nargs="+", metavar="FILE", help="files of dp_trace= and of --trace, of one side or both")
    traced.add_argument("--timeline", type=units.whole, default=0, metavar="N",
                        help="also print the events of N requests of median lifetime and of the N slowest (default: %(default)s)")
    traced.add_argument("--perfetto", metavar="FILE",
                        help="also write the requests around the slowest to FILE, for ui.perfetto.dev: a track a thread, arrows along each request (default: none)")
    traced.add_argument("--wide", action="store_true", help="print all columns (default: at most 80 characters a line)")
    for_json.add(traced)
    traced.add_argument("--csv", action="store_true", help="print only the stages, as comma-separated values, times in ns")
    rows = out.add("export", "write every run as a row, for pandas and spreadsheets", _export)
    rows.add_argument("result", metavar="RESULT", help="a directory of a result, or its name under results/")
    kind = rows.add_mutually_exclusive_group()
    kind.add_argument("--csv", action="store_true", help="comma-separated (the default)")
    kind.add_argument("--json", metavar="FILE", nargs="?", const="-", help="a list of objects, to FILE (default: comma-separated; without FILE to --out)")
    kind.add_argument("--fio-plot", metavar="DIR", help="a new directory that fio-plot reads: a directory an arm, fio's JSON of its middle run (default: none)")
    rows.add_argument("--out", metavar="FILE", help="the file to write (default: stdout)")

    history.add(out.add, _result)
    advise.add(out.add, _result)
    scale.add(out.add, _result)

    out.group("set up and check")
    for_json.add(out.add("list", "list the studies and the example job files", _list))
    doctor_ci.add(out.add("doctor", "check this host for what would spoil a measurement", _doctor))
    selfcheck.add(out.add)
    bind.add(out.add)
    out.add("env", "print the environment that job files need, for eval", _env)
    check = out.add("selftest", "check the statistics on made-up runs of known truth", _selftest)
    check.add_argument("--repetitions", type=units.whole, default=2000, metavar="N", help="draws of the cheapest checks (default: %(default)s)")
    for_json.add(check)
    check.add_argument("--seed", type=units.whole, default=1, metavar="N", help="seed of the random numbers (default: %(default)s)")
    return out


def _run(args):
    chosen = studyfile.load(studyfile.find(args.study), args.short)
    for text in args.peer:
        peers.add(chosen, text)
    if args.job:
        own_job.lend(chosen, args.job)
    elif args.engine or args.section or args.diff:
        raise Refused(f"{'--engine' if args.engine else '--section' if args.section else '--diff'} needs --job, as a study's own job is made for it")
    return _execute(chosen, args, own_job.in_study if args.job else own_job.as_it_is)


def _sweep(args):
    chosen = studyfile.lent(args.job, args.program)
    chosen.title = f"sweep of {chosen.name}"
    chosen.name = f"sweep-{chosen.name.removesuffix('.fio')}"
    chosen.primary = args.primary or chosen.primary
    return _execute(chosen, args, own_job.adapt)


def _execute(chosen, args, fit):
    options.apply_gate(chosen, args)
    options.apply_factors(chosen, args)
    options.apply_baseline(chosen, args)
    options.apply(chosen, args, fit=fit)
    options.finish(chosen, args)
    configuration.Configurations(chosen).fold()
    return execute(chosen, args)[1]


def _result(text):
    """The directory of a result: a path, or its name under results/."""
    for path in (Path(text), paths.results() / text):
        if store.holds_result(path):
            return path.resolve()
    raise Refused(f"result not found: {text} (looked in ., {paths.results()})")


def _report(args):
    from ..report import write
    write.report(_result(args.result), options.view(args), *options.history(args))


def _percentiles(args):
    from ..report import percentiles
    with for_json.delivered(args, "percentiles") as data:
        data.update(percentiles.command([_result(text) for text in args.result], args.arm, args.job, args.out))


def _trace(args):
    from . import trace  # numpy takes a while, and other commands have no need of it
    trace.run(args)


def _export(args):
    from ..report import export, fioplot
    if args.fio_plot:
        if args.out:
            raise Refused("export: --out and --fio-plot exclude each other")
        for path in fioplot.export(store.load(_result(args.result)), args.fio_plot):
            print(path)
        return
    if args.json not in (None, files.STDOUT) and args.out:
        raise Refused("export: --json FILE and --out exclude each other")
    export.export(_result(args.result), args.json is not None, args.out or (args.json if args.json != files.STDOUT else None))


def _selftest(args):
    from ..judge import selftest
    if args.repetitions < 200:
        raise Refused(f"--repetitions must be 200 or more (is {args.repetitions})")
    with for_json.delivered(args, "selftest") as data:
        wrong = selftest.run(args.repetitions, args.seed, data.setdefault("checks", []))
    return NOT_MEASURED if wrong else 0


def _doctor(args):
    with for_json.delivered(args, "doctor") as data:
        if doctor.examine(data.setdefault("checks", [])):
            return NOT_MEASURED
        return doctor_ci.examine(args, run, data) if args.ci is not None else 0


def _list(args):
    with for_json.delivered(args, "list") as data:
        data.update(studies=[], job_files=[])
        _listed(data)


def _listed(data):
    """Print studies and job files, and put them into DATA."""
    print(f"{'':<20} {'full':>6} {'short':>6}")
    for path in studyfile.all_studies():
        known = studyfile.load(path)
        try:
            short = _takes(studyfile.load(path, True))
        except Refused:
            short = None
        full, title = _takes(known), known.title.removeprefix(f"{known.name}: ")
        print(f"{known.name:<20} {units.duration(full):>6} {units.duration(short) if short else '-':>6}  {title} "
              f"({len(known.arms())} arms, {known.repeats} repeats)")
        data["studies"].append({"name": known.name, "title": title, "arms": len(known.arms()), "repeats": known.repeats, "seconds": full, "short_seconds": short})
    for path in studyfile.all_jobs():
        try:
            studyfile.check_job(path)
            what = "fio, sweep and ab"
        except Refused:
            what = "fio by itself"
        print(f"{path.name:<20} {'-':>6} {'-':>6}  a job file, for {what}")
        data["job_files"].append({"name": path.name, "for": what})


def _takes(known):
    """About how many seconds a study runs where nothing of it is left out."""
    from ..run import session
    arms = known.arms()
    return (len(arms) * known.repeats + known.warmup) * session.seconds_each(known, arms)


def _env(_args):
    if paths.elsewhere():
        print(f"dataplane: FIO_DATAPLANE is {paths.elsewhere()} already, and stays so; unset it first for {paths.own_dir()}", file=sys.stderr)
    print(f"export FIO_DATAPLANE={shlex.quote(str(paths.dataplane_dir()))}")


def _stop(_number, _frame):
    raise KeyboardInterrupt


def run(argv):
    """Run the command; returns the exit status, if nothing is raised."""
    signal.signal(signal.SIGTERM, _stop)
    # A terminal that goes away must not keep targets, and what --restore restores, from their end; nohup means go on.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _stop)
    args = commands().parse(argv, system.version)
    args.argv = argv
    return args.run(args)


def main(argv):
    """Run the command; returns the exit status, whatever happens."""
    return status.guarded(run, argv)
