# SPDX-License-Identifier: GPL-2.0-only
"""dataplane match: what is to be held against what; the runs are in run/match_run.py."""

from .. import paths, units
from . import options, own_job
from .execute import execute
from ..model import guest_arm, jobfile, match, server, study, studyfile
from ..errors import Refused

# What the grid has in the place of a depth or a size that the job has itself.
_OWN = "job's"


def add(command):
    """Add match to the command line; COMMAND(name, text, run) makes a parser."""
    sub = command("match", "fit the target's costs to a real program", _run)
    sub.add_argument("--peer", required=True, metavar="NAME", help=f"the server to match: {', '.join(match.PEERS)} (required)")
    sub.add_argument("--job", metavar="JOB", help="an fio job file to match over in the place of a plain one (default: none)")
    own_job.add(sub, match=True)
    sub.add_argument("--iodepth", metavar="A,B,…", help="depths of the grid (default: 1,8,32; with --job the job's)")
    sub.add_argument("--bs", metavar="A,B,…", help="block sizes of the grid, in bytes, or such as 4k (default: 4k,64k; with --job the job's)")
    sub.add_argument("--backend", default="threads", metavar="A,B,…",
                     help=f"what stands behind, of {', '.join(match.OURS)}; each is fitted by itself (default: %(default)s)")
    sub.add_argument("--poll-max-ns", default="0,32768", metavar="A,B,…",
                     help="poll windows of the grid in ns, for peers that poll: guest (default: %(default)s)")
    sub.add_argument("--rw", metavar="KIND", help="fio's rw= (default: randread; with --job the job's)")
    sub.add_argument("--steps", type=units.whole, default=3, metavar="N",
                     help="rounds over the grid that try costs; 0 fits nothing (default: %(default)s)")
    sub.add_argument("--repeats", type=units.whole, default=3, metavar="N", help="counted runs of each point (default: %(default)s)")
    sub.add_argument("--runtime", default="0.6", metavar="S", help="time measured in a run, in s, or such as 500ms (default: %(default)s)")
    sub.add_argument("--ramp", default="0.2", metavar="S", help="time before that, not measured, in s, or such as 500ms (default: %(default)s)")
    sub.add_argument("--target", default="", metavar="'OPTIONS'", help="more options of our target (default: none)")
    sub.add_argument("--guest", default="", metavar="'OPTIONS'", help="more options of both guests, such as --qemu PATH (default: none)")
    options.add_place(sub)
    options.add_view(sub)


def _run(args):
    chosen, course = _prepared(args)
    execute(chosen, args, course)


def _prepared(args):
    """(Match, Fitting) for the command line."""
    from ..run import match_run  # scipy takes a while, and other commands have no need of it
    if args.peer not in match.PEERS:
        raise Refused(f"--peer {args.peer}: unknown; accepted: {', '.join(match.PEERS)}")
    if args.steps < 0:
        raise Refused(f"--steps must be 0 or more (is {args.steps})")
    if args.guest and args.peer != "guest":
        raise Refused("--guest needs --peer guest")
    known = match.PEERS[args.peer]
    backends = study.words(args.backend.split(","), "--backend")
    for backend in backends:
        if backend not in match.OURS:
            raise Refused(f"--backend {backend}: unknown; accepted: {', '.join(match.OURS)}")
    usual = (_OWN, _OWN) if args.job else ("1,8,32", "4k,64k")
    depths, sizes = (study.words((getattr(args, k) or usual).split(","), f"--{k}") for k, usual in zip(("iodepth", "bs"), usual))
    for depth in depths:
        if args.iodepth and (not depth.isdigit() or not int(depth)):
            raise Refused(f"--iodepth {depth}: expected numbers from 1 up")
    for size in sizes if args.bs else ():
        units.size(size, "--bs")
    factors = {"backend": backends, "bs": sizes, "iodepth": depths}
    if known.polls:
        factors["poll-max-ns"] = study.words(args.poll_max_ns.split(","), "--poll-max-ns")
    fitted = args.steps and not _emulated(args.peer, args.guest)
    conditions = [k for k in factors if k not in ("bs", "iodepth")]
    factors["server"] = [args.peer, match.TARGET, match.FITTED] if fitted else [args.peer, match.TARGET]
    chosen = match_run.Match(
        name=f"match-{args.peer}", job=paths.jobfiles() / "match" / known.job, form="match", peer=args.peer,
        title=f"match: {args.peer} and our target", repeats=args.repeats, warmup=0, options=args.target, guest=args.guest,
        question=f"How far is our target from {args.peer}, and with which costs does it follow?",
        runtime=units.seconds(args.runtime, "--runtime"), ramp=units.seconds(args.ramp, "--ramp"), file=units.size(match.SIZE, ""),
        along="iodepth", conditions=conditions, variables={} if args.job else {"rw": args.rw or "randread"},
        server=server.Server().changed(known.ours[backends[0]], "target"), baseline={"server": args.peer},
        factors=factors, choices=match_run.choices(known, factors), costs={backend: [0, 0] for backend in backends})
    if args.job:
        _take_job(chosen, args)
    elif args.section or args.diff:
        raise Refused(f"{'--section' if args.section else '--diff'} needs --job")
    chosen.sample = min(chosen.sample, chosen.runtime / 4)
    options.apply_seed(chosen, args)
    studyfile.check(chosen)
    return chosen, match_run.Fitting(chosen, args.steps if fitted else 0)


def _take_job(chosen, args):
    """Have CHOSEN run the job file of the user's."""
    named = [name for name in ("iodepth", "bs", "rw") if getattr(args, name)]
    chosen.variables = {"rw": args.rw} if args.rw else {}
    engine = jobfile.load(chosen.job).sections[0].engine.removesuffix(".so")
    chosen.job = own_job.adapt(chosen, args, named, studyfile.find_job(args.job), engine, True, units.size(match.SIZE, ""))
    own_job.surroundings(chosen)
    own_job.end(args)


def _emulated(peer, options):
    """True where the guests' CPU would be emulated: their speed is nothing to be fitted to."""
    if peer != "guest":
        return False
    guest = guest_arm.parse(server.Server().changed({"program": "guest", "options": options}, "--guest").options, "--guest")
    return not guest_arm.missing(guest) and guest_arm.accelerator(guest) == "tcg"
