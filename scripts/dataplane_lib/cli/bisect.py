# SPDX-License-Identifier: GPL-2.0-only
"""dataplane bisect: the first commit that passes a limit, in this project's history or in that of another server."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .. import files, paths, units
from . import for_json, options
from ..errors import INCONCLUSIVE, INTERRUPTED, NOT_MEASURED, CommandLine, NotMeasured, Refused

_HELP = """\
The commits are built in work trees of their own, and each is run in pairs with
GOOD, by the dataplane that is asked, until --fail-if is decided. BAD comes
first: where it is not worse there is nothing to look for. What does not build,
or is not decided within --budget, is left out. ^C, and the same command again,
goes on where it was; with another --budget or --pairs it first measures again
what stayed undecided.

In the --server of another project $dir is the commit's work tree:

examples:
  dataplane bisect v1.0 HEAD --fail-if 'iops < -3%' poll-max-ns
  dataplane bisect v1.36.0 HEAD --repo ../nbdkit --fail-if 'iops < -5%' \\
            --build 'autoreconf -i && ./configure && make -j8' \\
            --server '$dir/nbdkit -f -U $socket memory 256M' my-nbd.fio
"""


def add(command):
    """Add bisect to the command line."""
    sub = command("bisect", "find the first commit that is slower than a good one", run)
    sub.epilog, sub.formatter_class = _HELP, argparse.RawDescriptionHelpFormatter
    sub.add_argument("good", metavar="GOOD", help="a commit that is good")
    sub.add_argument("bad", metavar="BAD", help="a later commit that is bad")
    sub.add_argument("job", metavar="JOB", help=options.JOB_HELP)
    sub.add_argument("--fail-if", action="append", required=True, metavar="'METRIC < LIMIT'", help="what bad means, as in ab; repeatable (required)")
    sub.add_argument("--dead-band", metavar="PCT", help="changes by so much beyond a limit are let pass (default: 1)")
    sub.add_argument("--repo", metavar="DIR", help="the git repository (default: that of these scripts)")
    sub.add_argument("--build", metavar="'CMD'", help="shell command that builds a commit, in its work tree (default: make all, of this project)")
    sub.add_argument("--server", metavar="'COMMAND'", help="a server of the commit's build, in $dir, as in ab (default: this project's targets and engines)")
    sub.add_argument("--target", default="", metavar="'OPTIONS'", help="target options of all commits (default: none)")
    sub.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="variables", help="give a ${NAME} of the job file a value; repeatable (default: the study's [variables])")
    sub.add_argument("--file", metavar="SIZE", help="size of the file that runs get as $file (default: the study's)")
    sub.add_argument("--runtime", metavar="S", help="time measured in a run (default: the study's, or 2 s)")
    sub.add_argument("--ramp", metavar="S", help="time before that, not measured (default: the study's, or 0.3 s)")
    sub.add_argument("--pairs", type=units.whole, metavar="N", help="so many pairs for each commit (default: until it is decided)")
    sub.add_argument("--budget", default="10m", metavar="TIME", help="longest time for a commit, in s, or such as 30m (default: %(default)s)")
    sub.add_argument("--cpus", metavar="FIO,TARGET", help="the two CPUs, or none (default: chosen, see doctor)")
    for_json.add(sub)
    sub.add_argument("--keep", action="store_true", help="keep the commits' work trees and builds when it is done (default: keep them until then)")
    sub.add_argument("--out", metavar="DIR", help="directory of builds, logs, every step's result, and what is known (default: results/bisect-GOOD-BAD)")


def run(args):
    """Look for it; returns the exit status."""
    with for_json.delivered(args, "bisect") as data:
        return _run(args, data)


def _run(args, data):
    """The exit status; DATA gets what was found."""
    from ..judge import gate
    from ..run import bisection
    gate.parse(args.fail_if, options.dead_band(args))
    units.seconds(args.budget, "--budget")
    if args.server and not args.build:
        raise CommandLine("--server needs --build, as only this project's build is known")
    home = Path(args.repo or paths.HOME)
    repository = bisection.Repository(home, home)
    good, bad = (repository.commit(name) if _is_commit(repository, name) else _unknown(name, home) for name in (args.good, args.bad))
    if good == bad or not repository.is_ancestor(good, bad):
        raise Refused(f"{args.good} is no ancestor of {args.bad}: there is no history between them")
    repository.place = Path(args.out).resolve() if args.out else paths.results() / f"bisect-{good[:9]}-{bad[:9]}"
    repository.place.mkdir(parents=True, exist_ok=True)
    asked = {key: getattr(args, key) for key in ("job", "fail_if", "dead_band", "build", "server", "target", "variables", "file", "runtime", "ramp")}
    started = time.monotonic()
    search = bisection.Bisection(repository, good, bad, {"names": [args.good, args.bad], **asked}, lambda commit: _judge(args, repository, good, commit),
                                 {"pairs": args.pairs, "budget": args.budget})
    culprit, open_ = search.search(lambda commit, step: _say(f"{repository.told(commit)}: {step.verdict}, {step.words}"))
    steps = search.known.values()
    data.update(good=good, bad=bad, first_bad=culprit, not_ruled_out=open_, directory=str(repository.place),
                steps=[{"commit": commit, "subject": repository.told(commit), **vars(step)} for commit, step in search.known.items()])
    print(f"{'First bad commit' if not open_ else 'First bad commit, unless it is one that was skipped'}: {repository.told(culprit)}")
    print(f"* {search.known[culprit].words}")
    for commit in open_:
        print(f"* not ruled out: {repository.told(commit)} ({search.known[commit].words})")
    print(f"{len(steps)} commits tried in {sum(s.runs for s in steps)} runs, {units.duration(sum(s.seconds for s in steps))} in all, {units.duration(time.monotonic() - started)} of it now; "
          f"results: {repository.place / 'steps'}")
    if not args.keep:
        repository.remove_trees()
    return INCONCLUSIVE if open_ else 0


def _is_commit(repository, name):
    try:
        return bool(repository.commit(name))
    except Refused:
        return False


def _unknown(name, home):
    raise Refused(f"{name}: no commit of {home}")


def _say(text):
    print(f"dataplane: {text}", file=sys.stderr, flush=True)


def _judge(args, repository, good, commit):
    """The Step of COMMIT: built, and run in pairs with GOOD."""
    from ..run.bisection import BAD, GOOD, SKIPPED, Step
    start = time.monotonic()
    build = args.build or f"make -j{os.cpu_count() or 1} all"
    # Without the good one's build nothing can be said of any commit.
    base = repository.tree(good, build)
    try:
        tree = repository.tree(commit, build)
    except NotMeasured as err:
        return Step(SKIPPED, str(err), 0, time.monotonic() - start)
    out = repository.place / "steps" / commit
    if (out / "result.json").exists():
        # It was not decided, and is measured again.
        shutil.rmtree(out)
    code = _compared(_command(args, base, tree, out))
    seconds = time.monotonic() - start
    if code not in (0, 1, INCONCLUSIVE):
        if code != NOT_MEASURED and commit == repository.commit(args.bad):
            raise Refused(f"{args.bad}: ab refused it, see above")
        return Step(SKIPPED, f"could not be measured (exit status {code})", 0, seconds)
    result = files.read_json(out / "result.json")
    words = "; ".join(text.removeprefix("--fail-if ") for text in result["gate"]["sentences"])
    return Step({0: GOOD, 1: BAD}.get(code, SKIPPED), words, len(result["runs"]), seconds)


def _compared(argv):
    """The exit status of ab, which ends in its own time when we are told to stop."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=_environment()) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
    if code in (INTERRUPTED, -2, -15):
        raise KeyboardInterrupt
    return code


def _environment():
    """Without what would have a commit measured with somebody else's build."""
    return {k: v for k, v in os.environ.items() if k not in ("FIO_DATAPLANE", "B", "MAKEFLAGS", "MFLAGS")}


def _command(args, base, tree, out):
    """ab of these scripts, whatever commit they are of."""
    arms = [f"dir={shlex.quote(str(place))}" if args.server else f"build={shlex.quote(str(place / 'build'))}" for place in (base, tree)]
    argv = [sys.executable, str(paths.HOME / "scripts/dataplane"), "ab", "--no-bisect", "--no-history", "--a", arms[0], "--b", arms[1], "--out", str(out)]
    argv += ["--pairs", str(args.pairs)] if args.pairs else ["--until-resolved", "--budget", args.budget]
    for name in ("server", "target", "file", "runtime", "ramp", "cpus", "dead_band"):
        if getattr(args, name):
            argv += [f"--{name.replace('_', '-')}", getattr(args, name)]
    for text in args.fail_if:
        argv += ["--fail-if", text]
    for text in args.variables:
        argv += ["--set", text]
    return [*argv, args.job]
