# SPDX-License-Identifier: GPL-2.0-only
"""dataplane matrix: two arms at every point of a grid of workloads."""

from . import options
from .execute import execute
from ..model import ab_arms, jobfile, study, studyfile
from ..run import order
from ..errors import Refused

_STUDY = "dataplane-matrix"
_PROTOCOLS = ("interleaved", study.ORIGINAL)
# So long is a run of the original.
_SECONDS = 120.0


def add(command):
    """Add matrix to the command line; COMMAND(name, text, run) makes a parser."""
    sub = command("matrix", "compare two arms over kinds of access and numbers of jobs", _run)
    sub.add_argument("study", metavar="STUDY", nargs="?", default=_STUDY,
                     help="whose job, workloads and target are taken (default: %(default)s)")
    for arm in "ab":
        sub.add_argument(f"--{arm}", required=True, metavar="'ARM'",
                         help=f"what is special about arm {arm.upper()}, see dataplane ab --help (required)")
    sub.add_argument("--protocol", default=_PROTOCOLS[0], metavar="NAME",
                     help=f"interleaved: the two runs of a point next to each other, in random order, with a verdict; {study.ORIGINAL}: three runs "
                          "of two minutes each, the first discarded, "
                          "the other two averaged (default: %(default)s)")
    sub.add_argument("--short", action="store_true", help="the study's short form")
    options.add_factors(sub)
    options.add_view(sub)
    options.add(sub, "target options of both arms (default: the study's)")


def _run(args):
    chosen = _study(args)
    # What an arm says of a variable comes after what is said of it for both.
    options.apply(chosen, args)
    _arms(chosen, args)
    options.apply_factors(chosen, args)
    options.finish(chosen, args)
    course = order.Original(chosen.arms()) if args.protocol == study.ORIGINAL else None
    execute(chosen, args, course)


def _study(args):
    """The study whose workloads are taken, with the protocol's times."""
    if args.protocol not in _PROTOCOLS:
        raise Refused(f"--protocol {args.protocol}: unknown; accepted: {', '.join(_PROTOCOLS)}")
    chosen = studyfile.load(studyfile.find(args.study), args.short)
    chosen.form = "matrix"
    if args.protocol == study.ORIGINAL:
        for name in ("repeats", "warmup"):
            if getattr(args, name) is not None:
                raise Refused(f"--{name} cannot be combined with --protocol {study.ORIGINAL} ({study.ORIGINAL_RUNS} runs of each arm, the first discarded)")
        chosen.repeats, chosen.warmup = study.ORIGINAL_RUNS - 1, 1
        chosen.runtime = chosen.runtime if args.short else _SECONDS
    return chosen


def _arms(chosen, args):
    """Two arms in the place of what the study varies in the target; its workloads stay."""
    specs = [ab_arms.parse(getattr(args, arm), f"--{arm}") for arm in "ab"]
    for spec in specs:
        if "job" in spec.names:
            raise Refused(f"--a, --b: job={spec.names['job']}: the matrix's jobs are those of {chosen.name}")
    if chosen.groups:
        raise Refused(f"{chosen.name}: its arms are groups; matrix needs [factors]")
    kept = {k: v for k, v in chosen.factors.items() if chosen.is_workload(k)}
    if not kept:
        raise Refused(f"{chosen.name}: varies no workload (a variable of the job file, or a choice that has some)")
    variables = jobfile.variables_of(chosen.job)
    tables = [ab_arms.table(spec, f"--{arm}", variables, chosen.server) for arm, spec in zip("ab", specs)]
    trees = [ab_arms.build(spec) for spec in specs]
    chosen.choices = {**{k: v for k, v in chosen.choices.items() if k in kept}, "arm": dict(zip("AB", tables))}
    # The arm comes last, so that the two runs of a point are neighbours in time.
    chosen.factors, chosen.baseline = {**kept, "arm": ["A", "B"]}, {"arm": "A"}
    chosen.published = None
    chosen.title = " / ".join(f"{name}: {spec.text}" + (f" ({tree})" if tree else "") for name, spec, tree in zip("AB", specs, trees))
    chosen.name = f"matrix-{chosen.name}"
