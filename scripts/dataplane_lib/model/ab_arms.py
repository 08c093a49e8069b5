# SPDX-License-Identifier: GPL-2.0-only
"""What --a and --b say about an arm, turned into what a study knows: server, options, variables."""

import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ..host import system
from . import guest_arm, server, studyfile
from ..errors import NotMeasured, Refused

# How a server is described, and from where its programs come; everything else is a variable or an option.
_SERVER = server.KEYS | {"job"}
_PLACES = ("tree", "build")
# What is neither a variable of the job nor an option of the target.
NO_VALUES = _SERVER | set(_PLACES)


@dataclass
class Spec:
    """An arm as it was written: OPTIONS of the target, and what NAMES were given which value."""
    text: str
    options: list = field(default_factory=list)
    names: dict = field(default_factory=dict)


def parse(text, option):
    """The Spec in TEXT: words NAME=VALUE, as --vary has them, and target options such as --poll off."""
    try:
        words = shlex.split(text)
    except ValueError as err:
        raise Refused(f"{option} '{text}': {err}") from None
    out = Spec(" ".join(words) or "as it is")
    for word in words:
        name, sep, value = word.partition("=")
        if word.startswith("--") or (out.options and not sep):
            out.options.append(word)
        elif not sep or not name or not value:
            raise Refused(f"{option} '{text}': {word}: expected NAME=VALUE, or an --option of the target")
        elif name in out.names:
            raise Refused(f"{option} '{text}': {name} is given twice")
        else:
            out.names[name] = value
    return out


def table(spec, option, variables, serving):
    """The arm's settings, as [choices] of a study.toml has them.

    VARIABLES are those of the job file; SERVING is the server of both arms, as far as it is the same.
    """
    out = {k: v for k, v in spec.names.items() if k in _SERVER}
    if out.get("clients", "").isdigit():
        out["clients"] = int(out["clients"])
    if "job" in out:
        out["job"] = str(studyfile.find_job(out["job"]))
    left = {k: v for k, v in spec.names.items() if k not in _SERVER and k not in _PLACES}
    out["variables"] = {k: left.pop(k) for k in list(left) if k in variables}
    directory = _directory(spec, option)
    if directory:
        out["variables"]["FIO_DATAPLANE"] = str(directory)
    command = out.get("command") or ("program" not in out and serving.command and shlex.join(serving.command))
    if command:
        _into_command(out, command, left, directory, spec, option)
    else:
        _into_options(out, left, directory, spec, option, serving.program)
    return out


def _into_options(out, names, directory, spec, option, usual):
    """A target of ours: which program, and its options."""
    program = out.get("program", usual)
    if directory and program == guest_arm.PROGRAM:
        raise Refused(f"{option} '{spec.text}': program=guest cannot be combined with tree= or build=; set FIO_DATAPLANE for both arms")
    if os.sep in program:
        out["program"] = os.path.abspath(program)
        if not os.access(out["program"], os.X_OK):
            raise Refused(f"{option} '{spec.text}': {program} is not a program")
    elif directory:
        out["program"] = str(directory / "targets" / program)
    words = [word for k, v in names.items() for word in (f"--{k}", v)] + spec.options
    if words:
        out["options"] = shlex.join([*shlex.split(out.get("options", "")), *words])


def _into_command(out, command, names, directory, spec, option):
    """A server's command line with this arm's $names in it."""
    if spec.options:
        raise Refused(f"{option} '{spec.text}': {spec.options[0]}: not an option of another server's command; write it into the command")
    used = server.names_in(command)
    for name in names:
        if name not in used:
            raise Refused(f"{option} '{spec.text}': {name} is neither ${name} in the server's command "
                          f"nor ${{{name}}} in the job file")
    if directory:
        names = {**names, "FIO_DATAPLANE": str(directory)}
    out["command"] = shlex.join(server.fill(word, names) for word in shlex.split(command))


def _directory(spec, option):
    """Where this arm's programs and engines were built, None for where everybody's were."""
    given = [k for k in _PLACES if k in spec.names]
    if len(given) > 1:
        raise Refused(f"{option} '{spec.text}': tree= and build= exclude each other")
    if not given:
        return None
    path = Path(spec.names[given[0]]).resolve()
    if given == ["tree"]:
        if not (path / "Makefile").is_file():
            raise Refused(f"{option} '{spec.text}': {path} is not a source tree of this project (no Makefile)")
        return path / "build"
    if not (path / "engines").is_dir():
        raise Refused(f"{option} '{spec.text}': {path} is not a build directory (no engines/)")
    return path


def build(spec):
    """Make the tree of an arm that names one; returns what it is, for the report."""
    if "tree" not in spec.names:
        return ""
    path = Path(spec.names["tree"]).resolve()
    # A B= of our own caller is not the tree's.
    environment = {k: v for k, v in os.environ.items() if k not in ("B", "MAKEFLAGS", "MFLAGS", "FIO_DATAPLANE")}
    done = subprocess.run(["make", "-C", str(path), f"-j{os.cpu_count() or 1}", "all"], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotMeasured(f"make -C {path}: exit status {done.returncode}" + (f": {said[-1]}" if said else ""))
    return system.output(["git", "--no-optional-locks", "describe", "--always", "--dirty"], cwd=path)
