# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, in a line: the device (backend, service time), the polling policy and the job."""

import os
import shlex

from .. import units
from . import guest_arm, server

# More values of a factor than these are counted.
_FEW = 8
# Characters of a command line; a longer one is not shown.
_LONG = 100
# What our targets do without these options.
_BACKEND, _DELAY, _POLICY = "null", "none", "adaptive"
_LIMITS = {"device-iops": "at most {} requests/s", "device-bw": "at most {} bytes/s", "device-parallel": "{} at a time"}


def described(study, has_target=True):
    """A line on STUDY, the settings that meta.json keeps: 'device: null, fixed:14us a request; policy: …; job: …'.

    A job without a target of its own (HAS_TARGET is False) has its device inside fio, or none.
    """
    return "; ".join(([_server(study)] if has_target else []) + [_job(study)])


def _server(study):
    varied, own = _varied(study)
    options = server.options(study.get("options") or ())
    if own:
        return _several([(name, study.get("program"), study.get("command"), options, told) for name, told in own.items()], varied)
    if study.get("command"):
        return f"server: {_command(study['command'])}"
    device, policy = _parts(study.get("program"), options, varied, undelayed=" without delay")
    if not {"backend", "delay"} & (options.keys() | varied.keys()) and study.get("program") != guest_arm.PROGRAM:
        device += " (the target's default)"
    return f"device: {device}" + (f"; policy: {policy}" if policy else "")


def _several(servers, varied):
    """'server: NAME (what it is), …; policy: …' of arms with programs of their own; the policy in each where they differ."""
    if len(servers) > _FEW:
        return f"server: {units.listed([name for name, *_ in servers], _FEW)}"
    parts = [(name, *_one(program, command, options, told, varied)) for name, program, command, options, told in servers]
    policies = list(dict.fromkeys(policy for *_, policy in parts if policy))
    named = [f"{name} ({device}{f', policy {policy}' if policy and len(policies) > 1 else ''})" for name, device, policy in parts]
    return f"server: {', '.join(named)}" + (f"; policy: {policies[0]}" if len(policies) == 1 else "")


def _one(program, command, options, told, varied):
    """(device, policy) of a server that TOLD, a table of a study.toml, makes of the study's own."""
    if told.get("command") or (command and not told.get("program")):
        return _command(told.get("command") or command), ""
    another = told.get("program", program)
    if another == guest_arm.PROGRAM != program:
        options = {}
    device, policy = _parts(another, {**options, **server.options(told.get("options") or ())}, varied)
    return (f"{another}, {device}" if another not in (program, guest_arm.PROGRAM) else device), policy


def _parts(program, options, varied, undelayed=""):
    """(device, policy) of PROGRAM with OPTIONS: 'null, fixed:14us a request', UNDELAYED without; no policy where QEMU serves its own disk."""
    guest = program == guest_arm.PROGRAM
    if guest and options.get("disk", "virtio-blk") == "virtio-blk":
        latency = _value("latency-ns", options, varied, "")
        return f"QEMU's virtio-blk, {_value('backend', options, varied, 'null-co')}" + (f", {latency} a request" if latency else ""), ""
    delay = _value("delay", options, varied, _DELAY)
    device = ("a guest's vhost-user-blk, " if guest else "") + _value("backend", options, varied, _BACKEND)
    device += undelayed if delay == _DELAY else f", {delay} a request"
    limits = [text.format(_value(k, options, varied, "")) for k, text in _LIMITS.items() if k in options or k in varied]
    return ", ".join([device, *limits]), _value("poll", options, varied, _POLICY)


def _command(words):
    """The command line WORDS, its program without the folder; where it is long, the program alone."""
    words = shlex.split(words) if isinstance(words, str) else words
    text = " ".join([os.path.basename(words[0]), *words[1:]])
    return text if len(text) <= _LONG else os.path.basename(words[0])


def _varied(study):
    """({option: values in the order of the arms}, {name: table} of the arms with servers of their own)."""
    out, own = {}, {}
    for values in (study.get("baseline") or {}, study.get("factors") or {}):
        for name, some in values.items():
            out.setdefault(name, []).extend(str(v) for v in (some if isinstance(some, list) else [some]))
    for factor, values in (study.get("choices") or {}).items():
        chosen = {name: values[name] for name in out.get(factor, ()) if name in values}
        if not own and any(told.get("command") or told.get("program") for told in chosen.values()):
            own = chosen
            continue
        for name, value in (item for told in chosen.values() for item in server.options(told.get("options") or ()).items()):
            out.setdefault(name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in out.items()}, own


def _value(name, options, varied, usual):
    """What an option is: its values where it is varied."""
    return units.listed(varied[name], _FEW, "|") if name in varied else options.get(name, usual)


def _job(study):
    settings = [f"{k}={v}" for k, v in (study.get("variables") or {}).items()]
    name = os.path.basename(str(study["job"]))
    # Every study has a job.fio; one without a title has its name on the line above.
    return f"job: {study['name'] + '/' if name == 'job.fio' and study.get('title') else ''}{name}" + (f" ({' '.join(settings)})" if settings else "")
