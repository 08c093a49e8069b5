# SPDX-License-Identifier: GPL-2.0-only
"""Our targets: which of them a job file wants, and whether they take the options that a study gives them."""

import os
import re
import subprocess

from .. import paths
from . import guest_arm, server
from ..errors import Refused
from .study import job_text, variables_of

VHOST, NBD = "vhost-user-blk-target", "nbd-target"
_SPEAKS = {VHOST: "vhost-user", NBD: "NBD"}
# An answer to --version takes milliseconds; a program that is none of ours may have none.
_PATIENCE_S = 5


def _engines(job):
    """{engine: the target it talks to} of a job file, as far as engines are known."""
    out = {}
    for path in re.findall(r"^\s*ioengine\s*=\s*(?:external:)?(\S+)", job_text(job), re.M):
        name = os.path.basename(path)
        if name in ("nbd", "nbd.so"):
            out[name] = NBD
        elif name.startswith(("vhost-user", "virtio-")):
            out[name] = VHOST
    return out


def for_job(job):
    """The target that JOB wants: its engine says so, else that it uses ${uri}."""
    wanted = set(_engines(job).values())
    if len(wanted) == 1:
        return wanted.pop()
    return NBD if "uri" in variables_of(job) else VHOST


def check_program(program):
    """Refuse a name that is no target; a path, or a guest, may be anything."""
    if os.sep not in program and program not in (*_SPEAKS, guest_arm.PROGRAM):
        raise Refused(f"--program {program}: no such target; accepted: {VHOST}, {NBD}, {guest_arm.PROGRAM} (a QEMU with a guest)")


def check_pair(job, program):
    """Refuse PROGRAM, a target, where no engine of JOB could talk to it."""
    name, engines = os.path.basename(program), _engines(job)
    if name in _SPEAKS and engines and name not in engines.values():
        engine, wanted = next(iter(engines.items()))
        raise Refused(f"{job}: its engine {engine} speaks {_SPEAKS[wanted]}, and {name} serves {_SPEAKS[name]}: use --program {wanted}")


def check_options(program, serving, job, names):
    """Ask PROGRAM, the path of a target, whether it takes the options of SERVING; NAMES is what $names in them stand for."""
    said = _asked(program, [server.fill(word, names) for word in serving.options])
    unknown = re.search(r"--(\S+): no such option", said)
    if said:
        raise Refused(_unknown(unknown[1], os.path.basename(program), job) if unknown else said)


def check_embedded(text, job):
    """The same for the target inside the engine of JOB, whose TEXT, filled in, has its options in target=."""
    found = re.search(r"^\s*target\s*=(.*)", text, re.M)
    if found and "virtio-poll" in text:
        said = _asked(paths.built("targets", VHOST), found[1].split())
        if said:
            raise Refused(f"{job.name}: target={found[1].strip()}: {said.removeprefix(VHOST + ': ')}")


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
    line = re.search(rf"^\s*{re.escape(name)}\s*=.*", job_text(job), re.M)
    return text + (f"; its '{line[0].strip()}' would have to be {name}=${{{name}}}" if line else "")
