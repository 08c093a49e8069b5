# SPDX-License-Identifier: GPL-2.0-only
"""Our targets: which of them a job file wants, and whether they take the options that a study gives them."""

import os
import re
import subprocess

from .. import paths
from . import guest_arm, jobfile, server
from ..errors import Refused

VHOST, NBD, UBLK = "vhost-user-blk-target", "nbd-target", "ublk-target"
_SPEAKS = {VHOST: "vhost-user", NBD: "NBD"}
# An answer to --version takes milliseconds; a program that is none of ours may have none.
_PATIENCE_S = 5


EMBEDDED = "virtio-poll.so"
# --size of a target that is not told, in bytes.
USUAL_SIZE = 1 << 30


def _wanted(job):
    """[(Section, the target that its engine talks to)] of a JobFile, as far as engines are known."""
    out = []
    for section in job.sections:
        if section.engine in ("nbd", "nbd.so"):
            out.append((section, NBD))
        elif section.engine.startswith(("vhost-user", "virtio-")):
            out.append((section, VHOST))
    return out


def for_job(path):
    """The target that the job file at PATH wants."""
    return wanted_by(jobfile.load(path))


def wanted_by(job):
    """The target that JOB, a JobFile, wants: its engine says so, else that it uses ${uri}."""
    wanted = {target for _, target in _wanted(job)}
    if len(wanted) == 1:
        return wanted.pop()
    return NBD if "uri" in job.names else VHOST


def embedded(job):
    """The sections of a JobFile, filled in, whose target is inside the engine."""
    return [section for section in job.sections if section.engine == EMBEDDED and section.get("transport", "embedded") == "embedded"]


def check_program(program):
    """Refuse a name that is no target, or one that is found at no socket; a path, or a guest, may be anything else."""
    if os.path.basename(program) == UBLK:
        raise Refused(f"--program {program}: serves a block device, not a socket, so it cannot be started for each run; start it by hand, and give the job file its /dev/ublkbN")
    if os.sep not in program and program not in (*_SPEAKS, guest_arm.PROGRAM):
        raise Refused(f"--program {program}: no such target; accepted: {VHOST}, {NBD}, {guest_arm.PROGRAM} (a QEMU with a guest)")


def check_pair(job, program):
    """Refuse PROGRAM, a target, where an engine of JOB, a JobFile, could not talk to it."""
    name, wanted = os.path.basename(program), _wanted(job)
    by_target = {target: next(s for s, t in wanted if t == target) for _, target in wanted}
    if len(by_target) > 1:
        told = " and ".join(f"[{section.name}] for {_SPEAKS[target]} ({section.engine})" for target, section in by_target.items())
        raise Refused(f"{job.name}: sections for two protocols, {told}, and a run has one target: --engine gives all the same, --section chooses one")
    if name in _SPEAKS and wanted and name not in by_target:
        section, target = wanted[0]
        raise Refused(f"{job.name}: its engine {section.engine} speaks {_SPEAKS[target]}, and {name} serves {_SPEAKS[name]}: use --program {target}")


def check_options(program, serving, job, names):
    """Ask PROGRAM, the path of a target, whether it takes the options of SERVING; NAMES is what $names in them stand for."""
    said = _asked(program, [server.fill(word, names) for word in serving.options])
    unknown = re.search(r"--(\S+): no such option", said)
    if said:
        raise Refused(_unknown(unknown[1], os.path.basename(program), job) if unknown else said)


def has_option(program, name):
    """Does PROGRAM, the path of a target, have an option NAME?"""
    return "no such option" not in _asked(program, [f"--{name}", "0"])


def check_embedded(job):
    """The same for the targets inside the engine of JOB, a JobFile, filled in, that has their options in target=."""
    for options in dict.fromkeys(section.get("target", "") for section in embedded(job)):
        said = _asked(paths.built("targets", VHOST), options.split())
        if said:
            raise Refused(f"{job.name}: target={options}: {said.removeprefix(VHOST + ': ')}")


def _asked(program, options):
    """What PROGRAM, the path of a target, has to say against OPTIONS; empty if nothing, or if it does not say."""
    try:
        done = subprocess.run([str(program), *options, "--version"], capture_output=True, text=True, timeout=_PATIENCE_S,
                              check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ""
    except OSError as err:
        raise Refused(f"{program}: {err.strerror}") from None
    if not done.returncode:
        return ""
    return (done.stderr.strip().splitlines() or [f"{program}: exit status {done.returncode}"])[-1]


def _unknown(name, program, job):
    """NAME is neither a variable of JOB nor an option of PROGRAM; where it is a line of JOB, what to make of that."""
    text = f"{name}: the job file {job.name} has no ${{{name}}}, and {program} has no --{name}"
    line = next((o for o in jobfile.load(job).options if o.name == name and o.value), None)
    return text + (f"; its '{line.text}' would have to be {name}=${{{name}}}" if line else "")
