# SPDX-License-Identifier: GPL-2.0-only
"""dataplane ab: two arms that may differ in anything, compared pair by pair."""

from dataclasses import asdict, replace

from .. import units
from . import options, own_job
from .execute import execute
from ..judge import gate
from ..model import ab_arms, jobfile, metrics, server, studyfile, targets
from ..run import against, pairing
from ..stats import ranks, stopping
from ..errors import CommandLine, Faults


def run(args):
    """Compare; returns the exit status."""
    plan = _plan(args)
    specs = [ab_arms.parse(getattr(args, arm) or "", f"--{arm}") for arm in "ab"]
    earlier = _against(args, specs[0])
    chosen = _study(args, specs)
    options.apply_seed(chosen, args)
    plan.seed = chosen.seed
    chosen.primary = plan.primary
    options.apply_gate(chosen, args)
    _arms(chosen, args, specs)
    options.finish(chosen, args)
    trees = [earlier, ab_arms.build(specs[1])] if earlier else [ab_arms.build(spec) for spec in specs]
    chosen.title = " / ".join(f"{name}: {_told(spec, tree, command)}" for name, spec, tree, command in
                              zip("AB", specs, trees, (args.set_a, args.set_b)))
    about = {"primary": plan.primary, "until": asdict(plan.until) if plan.until else None, "set": [args.set_a, args.set_b],
             "restore": args.restore, "fail_if": args.fail_if, "stopped": "", "notes": _notes(specs, args),
             "commits": {arm: tree for arm, tree in zip("AB", trees) if tree}}
    arms = chosen.arms()
    states = {arm.name: command for arm, command in zip(arms, (args.set_a, args.set_b)) if command}
    return execute(chosen, args, pairing.Pairs(arms, plan, states, args.restore, about))[1]


def _against(args, spec):
    """Have A, whose SPEC is given, be a build of the commit that --against says; returns what git calls it, '' without."""
    if args.against is None:
        return ""
    if {"tree", "build"} & spec.names.keys():
        raise CommandLine("--against and a tree= or build= of --a exclude each other")
    commit, tree = against.build(args.against, options.history(args)[0], f"ab-{studyfile.lent(args.job, args.program).name.removesuffix('.fio')}")
    spec.names["build"] = str(tree / "build")
    spec.text = f"{args.a + ' ' if args.a else ''}{args.against}"
    return commit


def _plan(args):
    """The Plan that the command line asks for."""
    faults = Faults()
    limits = faults.check(gate.parse, args.fail_if, faults.check(options.dead_band, args) or 0.0) or ()
    primary = args.primary or (limits[0].key if limits else "iops")
    faults.check(metrics.check, primary, f"--primary {primary}")
    if args.pairs < ranks.FEWEST_PAIRS or args.pairs % 2:
        faults.add(f"--pairs must be an even number of {ranks.FEWEST_PAIRS} or more (is {args.pairs})")
    if args.warmup < 0:
        faults.add(f"--warmup must be 0 or more (is {args.warmup})")
    if args.a is None and args.against is None:
        faults.add("the following arguments are required: --a, or --against")
    until = _until(args, limits, faults)
    if args.budget and not (args.until_resolved or args.precision):
        faults.add("--budget needs --until-resolved or --precision")
    budget = faults.check(units.seconds, args.budget or "30m", "--budget")
    cool_down = faults.check(units.seconds, args.cool_down, "--cool-down")
    if args.restore and not (args.set_a or args.set_b):
        faults.add("--restore needs --set-a or --set-b")
    if args.program and args.server:
        faults.add("--program and --server exclude each other")
    faults.raise_any(CommandLine)
    return pairing.Plan(max(args.pairs, stopping.FEWEST) if until else args.pairs, until,
                        budget, args.warmup, cool_down, primary, limits=limits)


def _until(args, limits, faults):
    """The stopping.Rule that the command line asks for, None where the number of pairs is fixed."""
    if args.dead_band is not None and not (limits or args.fail_if or args.until_resolved):
        faults.add("--dead-band needs --fail-if or --until-resolved")
    if args.until_resolved and args.precision is not None:
        faults.add("--until-resolved and --precision exclude each other")
    if args.precision is not None:
        return stopping.Rule(precision=_per_cent(args.precision, "--precision", faults))
    return stopping.Rule(limits, faults.check(options.dead_band, args) or 0.0) if args.until_resolved else None


def _per_cent(text, option, faults):
    """A number of per cent above 0."""
    value = units.number(text.rstrip("% "))
    if not value:
        faults.add(f"{option} {text}: expected a number of per cent above 0, such as 2")
    return value


def _study(args, specs):
    """The job with what both arms share; SPECS are theirs."""
    chosen = studyfile.lent(args.job, args.program)
    chosen.name = f"ab-{chosen.name.removesuffix('.fio')}"
    if args.server:
        chosen.server = server.Server().changed({"command": args.server}, "--server")
    names = [name for spec in specs for name in spec.names if name not in ab_arms.NO_VALUES]
    served = any(spec.options or {"program", "command", "options"} & spec.names.keys() for spec in specs)

    def fit(chosen, args, names):
        for spec in specs:
            if "job" in spec.names:
                spec.names["job"] = str(own_job.adapt(chosen, args, names, studyfile.find_job(spec.names["job"]), served=served))
        return own_job.adapt(chosen, args, names, served=served)
    options.apply(chosen, args, names, fit)
    return chosen


def _arms(chosen, args, specs):
    """Give CHOSEN the two arms, which SPECS are of."""
    jobs = [studyfile.find_job(s.names["job"]) if "job" in s.names else chosen.job for s in specs]
    tables = []
    for arm, spec, job in zip("ab", specs, jobs):
        serving = chosen.server
        if "job" in spec.names and not args.program and serving.program in (targets.VHOST, targets.NBD):
            # Another job may talk to the other target.
            serving = replace(serving, program=targets.for_job(job))
        tables.append(ab_arms.table(spec, f"--{arm}", jobfile.variables_of(job), serving))
        if serving.program != chosen.server.program and "command" not in tables[-1]:
            tables[-1].setdefault("program", serving.program)
    chosen.choices = {"arm": dict(zip("AB", tables))}
    chosen.factors = {"arm": ["A", "B"]}


def _told(spec, tree, command):
    """An arm for the title: what was written, which version its tree is, what is set before it."""
    return spec.text + (f" ({tree})" if tree else "") + (f", after '{command}'" if command else "")


def _notes(specs, args):
    """What is worth a word before anything ran."""
    a, b = ((s.options, s.names, c) for s, c in zip(specs, (args.set_a, args.set_b)))
    out = ["both arms are the same: whatever is found is chance"] if a == b else []
    if (args.set_a or args.set_b) and not args.restore:
        out.append("no --restore: what the --set commands set stays, in the other arm's runs too unless it sets it back")
    return out
