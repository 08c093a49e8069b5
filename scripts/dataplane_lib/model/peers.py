# SPDX-License-Identifier: GPL-2.0-only
"""Other people's programs as arms: are they there, which version, more of them."""

import os
import re
import shlex
import shutil

from ..host import system
from . import guest_arm, jobfile
from ..errors import NotMeasured, Refused


def add(chosen, text):
    """--peer NAME=PATH: every arm that runs NAME also with the binary at PATH."""
    name, sep, path = text.partition("=")
    if not sep or not name or not path:
        raise Refused(f"--peer {text}: expected NAME=PATH, such as qemu-nbd=/opt/qemu/bin/qemu-nbd")
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise Refused(f"--peer {text}: {path} is not a program")
    path = os.path.abspath(path)
    found = False
    for factor, values in chosen.choices.items():
        for value, table in list(values.items()):
            if _program(table) == name:
                label = _label(value, name, path, values)
                values[label] = {**table, **_with_program(table, path)}
                _follow(chosen, factor, value, label)
                found = True
    if not found:
        raise Refused(f"--peer {text}: no arm of {chosen.name} runs {name}; accepted: "
                      + (", ".join(sorted(_commands(chosen))) or "none"))


def _program(table):
    """The program of others that a choice runs, empty if none."""
    if table.get("program") == guest_arm.PROGRAM:
        return guest_arm.parse(shlex.split(table.get("options", "")), "options").qemu
    return str(table.get("command", "")).partition(" ")[0]


def _with_program(table, path):
    """What a choice says when its program is the one at PATH."""
    if table.get("program") == guest_arm.PROGRAM:
        return {"options": f"{table.get('options', '')} --qemu {_quoted(path)}"}
    return {"command": _quoted(path) + " " + str(table["command"]).partition(" ")[2]}


def _quoted(path):
    return "'" + path.replace("'", "'\\''").replace("$", "$$") + "'"


def _label(value, name, path, taken):
    """VALUE with its program's version in it, or the path where that is not enough."""
    number = re.search(r"\d+(\.\d+)+", system.output([path, "--version"]))
    called = f"{name}-{number[0]}" if number else path
    label = value.replace(name, called, 1) if name in value else f"{value} {called}"
    return label if label not in taken else value.replace(name, path, 1) if name in value else f"{value} {path}"


def _follow(chosen, factor, value, label):
    """Put LABEL behind VALUE wherever that is varied."""
    for factors in [*chosen.groups, chosen.factors]:
        if value in factors.get(factor, ()) and label not in factors[factor]:
            factors[factor].insert(factors[factor].index(value) + 1, label)


def _commands(chosen):
    return {_program(t) for values in chosen.choices.values() for t in values.values()} - {""}


def skip_missing(chosen):
    """Leave out the arms whose server or engine is not installed; chosen.skipped says which and why.

    Refused where that would leave nothing to compare, or nothing to compare with.
    """
    stock = _stock_engines()
    arms = chosen.arms()
    lacks = {arm.name: why for arm in arms if (why := _missing(chosen.setup(arm), stock))}
    left = [arm for arm in arms if arm.name not in lacks]
    for arm in left:
        if arm.against in lacks:
            raise NotMeasured(f"{arm.against}: is what others are compared with, and cannot run: {lacks[arm.against]}")
    compared = [arm for arm in arms if not arm.baseline]
    if not left or compared and all(arm.name in lacks for arm in compared):
        name, why = next(iter(lacks.items()))
        raise NotMeasured(f"{name}: cannot run, and nothing else is there to compare: {why}")
    chosen.skipped += [{"name": arm.name, "values": arm.values, "why": lacks[arm.name]} for arm in arms if arm.name in lacks]


def _missing(setup, stock):
    """What SETUP lacks, in words; empty if nothing."""
    guest = setup.server.guest()
    why = guest_arm.missing(guest) if guest else ""
    if why:
        return why
    command = setup.server.command
    for word in setup.server.options:
        if word.startswith("file:/dev/") and not os.path.exists(word.removeprefix("file:")):
            return f"there is no {word.removeprefix('file:')}"
    if setup.has_server() and command and not shutil.which(command[0]):
        return f"{command[0]} is not installed"
    for section in jobfile.load(setup.job).filled(setup.variables).sections:
        engine = section.get("ioengine", "")
        if stock and engine and "/" not in engine and ":" not in engine and engine not in stock:
            return f"this fio has no engine {engine}"
    return ""


def _stock_engines():
    """Names of the engines in the installed fio, none if it does not say."""
    return set(system.lines(["fio", "--enghelp"])[1:])


def skipped_words(skipped):
    """A sentence a reason: what was left out."""
    by_why = {}
    for skip in skipped:
        by_why.setdefault(skip["why"], []).append(skip["name"])
    return [f"{why}: skipped {', '.join(names)}." for why, names in by_why.items()]


def versions(chosen):
    """{program: first line of --version} of every command among the arms, and more about guests."""
    out = {}
    for arm in chosen.arms():
        serving = chosen.setup(arm).server
        guest, command = serving.guest(), serving.command
        if guest and guest.qemu not in out:
            out.update(guest_arm.facts(guest))
        if command and command[0] not in out:
            out[command[0]] = system.output([command[0], "--version"]) or "version unknown"
    return out
