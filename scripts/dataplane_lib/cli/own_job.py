# SPDX-License-Identifier: GPL-2.0-only
"""A job file of the user's own, as it is: what commands do to have it run on a target, and how they say so."""

import atexit
import difflib
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from .. import paths, units
from ..model import fio_options, job_copy, jobfile, server, study, studyfile, targets
from ..errors import Refused

_SOCKETS = {targets.VHOST: "vhost-user-blk", targets.NBD: "nbd"}


def add(sub, match=False):
    """Give SUB what commands have that take a job file; of MATCH the peer decides which engine."""
    if not match:
        sub.add_argument("--engine", metavar="NAME", help=f"run a copy of the job with this engine of ours, of {', '.join(job_copy.ENGINES)} "
                         "(default: its own; vhost-user-blk, or that of --program, for an engine of fio's own where there is a target)")
    sub.add_argument("--section", action="append", default=[], metavar="NAME", help="run this section of the job file only; repeatable (default: all)")
    sub.add_argument("--diff", action="store_true", help="print how the copy that would run differs from the job file, and exit")


def adapt(chosen, args, names=(), job=None, engine=None, served=False, device=None):
    """Let the study CHOSEN run a copy of its job, or of JOB, where that cannot be compared as it is; returns the path of what runs.

    NAMES are what is varied or set; ENGINE is of ENGINES, for a job that is to talk as another one does. SERVED says that there is a target whatever the job says,
    DEVICE how large it is in bytes if it cannot be made larger.
    """
    read = jobfile.load(job or chosen.job)
    wanted = _wanted(chosen, args, read, names, engine, served)
    wanted.device = device
    copy = job_copy.made(read, wanted)
    if job is None:
        chosen.runtime = chosen.runtime if args.runtime is not None else copy.runtime or chosen.runtime
        chosen.ramp = chosen.ramp if args.ramp is not None else copy.ramp if copy.ramp is not None else chosen.ramp
        chosen.sample = min(chosen.sample, chosen.runtime / 4)
        if chosen.server.program in _SOCKETS and not getattr(args, "program", None):
            chosen.server = chosen.server.changed({"program": targets.wanted_by(copy.job)}, "--engine")
    if getattr(args, "diff", False):
        sys.stdout.write(_diff(read, copy.job))
    if copy.job is read:
        return read.path
    told = [copy.told(read.name), *([] if device else _device(chosen, copy))]
    if any(told):
        chosen.job_changes.append("; ".join(filter(None, told)))
    return _write(copy.job)


def as_it_is(chosen, _args, _names):
    """The job of a study, which is made for it."""
    return chosen.job


def lend(chosen, name):
    """Give the study CHOSEN the job file NAME; what it says of its own job's variables goes."""
    for table in (table for tables in chosen.choices.values() for table in tables.values() if "job" in table):
        table["job"] = str(chosen.job.parent / table["job"])
    chosen.job, chosen.source = studyfile.find_job(name), None
    chosen.title = f"{chosen.title} ({chosen.job.name})"


def in_study(chosen, args, names):
    """Let CHOSEN, with a job that lend() gave it, run a copy of that; returns its path.

    A choice of the study that is another job file, for another engine, is the same job with that engine.
    """
    given, used = chosen.job, set(names)
    for factor, tables in chosen.choices.items():
        for value, table in tables.items():
            if "job" in table and value in chosen.all_factors().get(factor, ()):
                serving = chosen.server.changed({k: v for k, v in table.items() if k in server.KEYS}, value)
                engine = next((s.engine.removesuffix(".so") for s in jobfile.load(Path(table["job"])).sections), None)
                table["job"] = str(adapt(replace(chosen, server=serving), args, names, given, engine if engine in job_copy.ENGINES else None, True))
    path = adapt(chosen, args, names, served=True)
    kept = jobfile.variables_of(path) | used
    chosen.variables = {k: v for k, v in chosen.variables.items() if k in kept}
    return path


def end(args):
    """End the program where no more than --diff was asked for."""
    if getattr(args, "diff", False):
        sys.exit(0)


def surroundings(chosen, names=()):
    """Give CHOSEN the variables of its job that only the environment has a value for, as fio would take them; NAMES are varied."""
    for name in sorted(chosen.job_variables() - set(chosen.variables) - set(names) - set(chosen.all_factors())):
        if name not in study.PROVIDED and name in os.environ:
            chosen.variables[name] = os.environ[name]


def _wanted(chosen, args, job, names, engine, served):
    engine = getattr(args, "engine", None) or engine
    if engine is not None and engine not in job_copy.ENGINES:
        raise Refused(f"--engine {engine}: unknown; accepted: {', '.join(job_copy.ENGINES)}")
    program = chosen.server.program
    speaks_nbd = chosen.server.command and not any("vhost" in word for word in chosen.server.command)
    usual = _SOCKETS.get(os.path.basename(program or ""), "nbd" if speaks_nbd else "vhost-user-blk")
    unknown = [n for n in dict.fromkeys(names) if n not in job.names and not (chosen.server.command and chosen.server.uses(n))]
    ours = [n for n in unknown if _is_targets(chosen, n)]
    free = [n for n in unknown if n not in ours and _is_jobs(job, n, engine or usual)]
    hosted = bool(served or ours or args.target or getattr(args, "engine", None) or getattr(args, "program", None) or getattr(args, "server", None))
    seconds = [None if getattr(args, name) is None else units.seconds(getattr(args, name), f"--{name}") for name in ("runtime", "ramp")]
    return job_copy.Wanted(engine, usual, hosted, free, args.section, *seconds, usual_times=(chosen.runtime, chosen.ramp), values={**os.environ, **chosen.variables})


def _is_targets(chosen, name):
    """Does the target of CHOSEN have an option NAME?"""
    target = chosen.server.target() if chosen.server.program else None
    return bool(target and target.program) and targets.has_option(paths.built("targets", target.program), name)


def _is_jobs(job, name, engine):
    """Is NAME an option that JOB has, or that fio, its engine or ENGINE, which it may get, knows?"""
    own = {s.get("ioengine", "").replace("${FIO_DATAPLANE}", str(paths.dataplane_dir())) for s in job.sections}
    own.add(str(paths.dataplane_dir() / "engines" / f"{engine}.so"))
    return any(o.key == name or o.name == name for o in job.options) or any(name in fio_options.options_of(e) for e in own) or fio_options.is_option(name)


def _device(chosen, copy):
    """What the target has to be for the job, where nobody has said otherwise: (told, …)."""
    serving = chosen.server
    if serving.program not in (targets.VHOST, targets.NBD):
        return
    given = server.options(serving.options)
    if copy.verifies and "backend" not in given:
        chosen.server = serving = serving.changed({"options": "--backend ram"}, "--target")
        yield "the target keeps data (--backend ram), which verify= needs"
    elif copy.verifies and given.get("backend") == "null":
        raise Refused(f"{copy.job.name}: verify= needs a target that keeps data: --target '--backend ram' or '--backend file:PATH'")
    if given.get("backend", "null").startswith("file:") or not copy.bytes:
        return
    if "size" in given and (units.number(given["size"]) or copy.bytes) < copy.bytes:
        raise Refused(f"{copy.job.name}: asks for {copy.bytes} bytes (size=, offset=), and --size {given['size']} is less; without --size the target gets what the job asks for")
    if "size" not in given and copy.bytes > targets.USUAL_SIZE:
        rounded = -(-copy.bytes // 65536) * 64
        chosen.server = serving.changed({"options": f"--size {rounded}k"}, "--target")
        yield f"the target's --size is what the job asks for, {units.short(copy.bytes)} bytes"


def _diff(job, copy):
    return "".join(f"{line}\n" for line in difflib.unified_diff(job.text.splitlines(), copy.text.splitlines(), str(job.path), f"{job.path} (copy)", lineterm=""))


def _write(job):
    """The path of JOB as a file of its own, which goes with this process."""
    place = tempfile.mkdtemp(prefix="dataplane-job-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    path = Path(place) / job.name
    path.write_bytes(job.text.encode("utf-8", "surrogateescape"))
    return path
