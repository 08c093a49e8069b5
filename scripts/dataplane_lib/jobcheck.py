# SPDX-License-Identifier: GPL-2.0-only
"""What fio says of a job file: asked before the first run, and told where it refused one, in a line.

fio --parse-only loads the engine and reads every option, its own and the engine's, and touches nothing. What is left to the
run is what an engine can only say with its device before it, such as a queue_size that this device does not have.
"""

import re
import subprocess

from . import guest_job, host, server, targets
from .errors import Refused
from .study import job_text, variables_of

_PATIENCE_S = 30
# What fio calls a type (it has the same word for many), and what that is.
_TYPES = {"integer value": "a whole number", "boolean value": "0 or 1", "string with time postfix": "a time such as 10s",
          "string": "a number such as 4k"}


def check(arms, job_of):
    """Refuse options and values that fio does not take in any of ARMS; JOB_OF(arm) is (setup, environment of its run)."""
    asked = set()
    for arm in arms:
        setup, environment = job_of(arm)
        used = {k: environment[k] for k in variables_of(setup.job) if k in environment}
        question = (setup.job, *sorted(used.items()), *(setup.server.options if setup.server.guest() else ()))
        if question in asked:
            continue
        asked.add(question)
        guest = setup.server.guest()
        if guest:
            text = guest_job.rewritten(setup.job, {**used, "iops_log": "job"}, guest.engine)
        else:
            text = server.fill(job_text(setup.job), used)
        _ask(text, setup.job)
        targets.check_embedded(text, setup.job)


def _ask(text, job):
    """Have fio parse TEXT, which is JOB with its variables filled in."""
    try:
        done = subprocess.run(["fio", "--parse-only", "-"], input=text, capture_output=True, text=True, errors="replace",
                              timeout=_PATIENCE_S, check=False, cwd=job.parent)
    except OSError as err:
        raise Refused(f"fio: {err.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{job.name}: fio has not read it within {_PATIENCE_S} s") from None
    if done.returncode:
        raise Refused(f"{job.name}: " + (told(done.stderr, done.stdout, text)
                                         or f"fio --parse-only: exit status {done.returncode}"))


def cause(directory, settings):
    """What fio said about its failing in a run, for a message; SETTINGS is the text of the job, filled in."""
    return told(host.read(directory / "fio.err"), host.read(directory / "fio.json"), settings)


def told(errors, valid, settings):
    """What fio did not take of SETTINGS, and what it would have, in one line.

    ERRORS is what fio said on stderr, the last line of which is told if none is about SETTINGS; which values are VALID
    goes where the result would.
    """
    said = [line.strip().removeprefix("fio: ") for line in errors.splitlines() if line.strip()]
    valid = [match[1] for match in re.finditer(r"^\s*(?:valid values)?\s*:\s*(\S+)", valid, re.M)]
    out = []
    for number, line in enumerate(said):
        failed, bad = re.match(r"failed parsing (\w+)(=.*)?", line), re.match(r"Bad option <(.*)>", line, re.I)
        if failed:
            out.append(_refused(failed[1], failed[2], said[number - 1] if number else "", valid, settings))
        elif bad:
            meant = said[number + 1] if said[number + 1:] and said[number + 1].startswith("Did you mean") else ""
            out.append(f"{bad[1]}: neither fio nor the engine has such an option{'; ' + meant if meant else ''}")
    # Without its engine fio knows none of the engine's options.
    out = [text for text in out if text.startswith("ioengine=")] or out
    return "; ".join(dict.fromkeys(out)) or (said[-1] if said else "")


def _refused(option, value, before, valid, settings):
    """OPTION was refused, with "=VALUE" where fio tells it; BEFORE is the line that fio said just before that."""
    if not value or "${" in value:
        given = dict.fromkeys(v.strip() for v in re.findall(rf"^\s*{option}\s*=(.*)$", settings, re.M))
        value = "=" + " or ".join(given) if given else ""
    text = option + value
    if valid:
        return f"{text}: accepted: {', '.join(valid)}"
    wants = _wants(option, settings)
    # "invalid external ioengine path" and the like, but nothing of another job or option.
    why = "" if not before or re.search(r"out of range|dropped|failed parsing|suffix", before) else before
    return f"{text}: {why or 'fio does not take that'}{'; wants ' + wants if wants and not why else ''}"


def _wants(option, settings):
    """What fio's help, or the engine's, says about OPTION; empty where it says nothing."""
    engine = re.search(r"^\s*ioengine\s*=\s*(?:external:)?(\S+)", settings, re.M)
    said = host.lines(["fio", f"--enghelp={engine[1]},{option}"]) if engine else []
    if not any("type:" in line for line in said):
        said = host.lines(["fio", f"--cmdhelp={option}"])
    about = {key.strip(): value.strip() for key, colon, value in (line.partition(":") for line in said) if colon}
    kind = _TYPES.get(about.get("type", "").partition(" (")[0], "")
    low, high = (re.search(rf"{end}=(\d+)", about.get("range", "")) for end in ("min", "max"))
    limits = f", {low[1]} to {high[1]}" if low and high and kind != "0 or 1" else f", {low[1]} or more" if low and kind != "0 or 1" else ""
    return f"{kind}{limits}" + (f" ({about[option]})" if option in about else "") if kind else ""
