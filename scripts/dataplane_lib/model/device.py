# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, in a line: the device (backend, service time), the polling policy and the job."""

import os
import shlex

from .. import units
from . import guest_arm

# More values of a factor than these are counted.
_FEW = 8
# What our targets do without these options.
_BACKEND, _DELAY, _POLICY = "null", "none", "adaptive"
_LIMITS = {"device-iops": "at most {} requests/s", "device-bw": "at most {} bytes/s", "device-parallel": "{} at a time"}


def described(study, has_target=True):
    """A line on STUDY, the settings that meta.json keeps: 'device: null, fixed:14us a request; policy: …; job: …'.

    A job without a target of its own (HAS_TARGET is False) has its device inside fio, or none.
    """
    return "; ".join(([_server(study)] if has_target else []) + [_job(study)])


def _server(study):
    if study.get("command"):
        return f"server: {os.path.basename(study['command'][0])}"
    options, varied = _options(study.get("options") or ()), _varied(study)
    start = f"server: {units.listed(varied['server'], _FEW)}; " if "server" in varied else ""
    if start and not {"backend", "delay"} & options.keys():
        return start[:-2]
    if study.get("program") == guest_arm.PROGRAM:
        return f"device: QEMU's, {_value('backend', options, varied, 'null-co')}"
    device = f"device: {_value('backend', options, varied, _BACKEND)}"
    delay = _value("delay", options, varied, _DELAY)
    device += " without delay" if delay == _DELAY else f", {delay} a request"
    if not {"backend", "delay"} & (options.keys() | varied.keys()):
        device += " (the target's default)"
    limits = [text.format(_value(k, options, varied, "")) for k, text in _LIMITS.items() if k in options or k in varied]
    return f"{start}{', '.join([device, *limits])}; policy: {_value('poll', options, varied, _POLICY)}"


def _varied(study):
    """{option: values in the order of the arms}; 'server' stands for arms with programs of their own."""
    out = {}
    for values in (study.get("baseline") or {}, study.get("factors") or {}):
        for name, some in values.items():
            out.setdefault(name, []).extend(str(v) for v in (some if isinstance(some, list) else [some]))
    for factor, values in (study.get("choices") or {}).items():
        chosen = [(name, told) for name, told in values.items() if name in out.get(factor, ())]
        if any(told.get("command") or told.get("program") for _, told in chosen):
            out["server"] = [name for name, _ in chosen]
        for name, value in (item for _, told in chosen for item in _options(told.get("options") or ()).items()):
            out.setdefault(name, []).append(value)
    return {name: list(dict.fromkeys(values)) for name, values in out.items()}


def _value(name, options, varied, usual):
    """What an option is: its values where it is varied."""
    return units.listed(varied[name], _FEW, "|") if name in varied else options.get(name, usual)


def _options(words):
    """{name: value} of a target's options, which are words or one text."""
    words = shlex.split(words) if isinstance(words, str) else list(words)
    out, name = {}, None
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            out[name] = value
        elif name:
            out[name] = f"{out[name]} {word}".strip()
    return out


def _job(study):
    settings = [f"{k}={v}" for k, v in (study.get("variables") or {}).items()]
    name = os.path.basename(str(study["job"]))
    # Every study has a job.fio.
    return f"job: {study['name'] + '/' if name == 'job.fio' else ''}{name}" + (f" ({' '.join(settings)})" if settings else "")
