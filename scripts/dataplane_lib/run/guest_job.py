# SPDX-License-Identifier: GPL-2.0-only
"""A job file as it runs in a guest: on the guest's disk, through an engine of fio's own."""

import re

from .. import paths
from ..host import system
from ..model import server
from ..model.study import job_text

DISK = "/dev/vda"
# What a job that names none of fio's own engines gets.
_USUAL_ENGINE = "libaio"
# What these stand for is on the host.
_HOSTS = {"socket", "uri", "port", "file", "dp_stats", "dp_trace", "fio_cpus", "FIO_DATAPLANE"}
_SET_HERE = {"ioengine", "filename", "direct"}


def rewritten(job, variables, engine=""):
    """The text of JOB, a path, for the guest.

    VARIABLES are the values of its ${names}. ENGINE replaces the job's own, whose private options are left
    out then; a job for an engine of this project gets libaio without one. Lines about what only the host has go too.
    """
    text = job_text(job)
    own = _engine(text, variables)
    if not engine:
        engine = own if own and not _is_file(own) else _USUAL_ENGINE
    dropped = set(_SET_HERE)
    if engine != own:
        dropped |= options_of(own) - options_of(engine)
    out = []
    for line in text.splitlines():
        name = line.partition("=")[0].strip()
        used = set(re.findall(r"\$\{([^}]+)\}", line))
        if name in dropped or used & _HOSTS:
            continue
        out.append(server.fill(line, {k: variables[k] for k in used if k in variables}) if used else line)
    return _with(out, [f"ioengine={engine}", "direct=1", f"filename={DISK}"])


def options_of(engine):
    """Names of the options that only ENGINE has; none of one that does not load."""
    if not engine:
        return set()
    lines = system.lines(["fio", f"--enghelp={engine.removeprefix('external:')}"])
    return {match[1] for line in lines if (match := re.match(r"(\w+)\s*:", line))}


def _engine(text, variables):
    """The job's own engine, empty without one."""
    found = re.search(r"^\s*ioengine\s*=\s*(\S+)", text, re.M)
    return server.fill(found[1], {"FIO_DATAPLANE": str(paths.dataplane_dir()), **variables}) if found else ""


def _is_file(engine):
    return "/" in engine or engine.startswith("external:")


def _with(lines, added):
    """LINES with ADDED at the start of the global section."""
    for number, line in enumerate(lines):
        if re.match(r"\s*\[global\]", line):
            break
    else:
        number, lines = 0, ["[global]", *lines]
    return "\n".join([*lines[:number + 1], *added, *lines[number + 1:]]) + "\n"
