# SPDX-License-Identifier: GPL-2.0-only
"""What fio says of a job file: asked before the first run, and told where it refused one, in a line.

fio --parse-only loads the engine and reads every option, its own and the engine's, and touches nothing. What is left to the
run is what an engine can only say with its device before it, such as a queue_size that this device does not have.
"""

import re
import subprocess

from ..host import system
from ..model import jobfile, targets
from . import guest_job
from ..errors import NotMeasured, Refused

_PATIENCE_S = 30
_FIOS_OWN = re.compile(r"pid=\d+, err=|io engine .* init failed|destination does not support O_DIRECT")
# What fio calls a type (it has the same word for many), and what that is.
_WHOLE = "a whole number"
_TYPES = {"integer value": _WHOLE, "boolean value": "0 or 1", "string with time postfix": "a time such as 10s",
          "string": "a number such as 4k"}


def check(arms, job_of, remote=False):
    """Refuse options and values that fio does not take in any of ARMS, and what could not be counted afterwards.

    JOB_OF(arm) is (setup, environment of its run); REMOTE says that fio runs on other machines.
    """
    asked = set()
    for arm in arms:
        setup, environment = job_of(arm)
        job = jobfile.load(setup.job)
        used = {k: environment[k] for k in job.names if k in environment}
        question = (setup.job, *sorted(used.items()), *(setup.server.options if setup.server.guest() else ()))
        if question in asked:
            continue
        asked.add(question)
        guest = setup.server.guest()
        filled = job.filled(used)
        _ask(guest_job.rewritten(job, {**used, "iops_log": "job"}, guest.engine) if guest else filled.text, filled)
        targets.check_embedded(filled)
        if not guest and setup.server.program and setup.has_server():
            check_merging(job, used, remote)


def check_merging(job, values, remote):
    """Refuse JOB, a JobFile whose variables are VALUES, where the target's count of requests could not be held against fio's."""
    for written, section in zip(job.sections, job.filled(values).sections):
        merge = section.get("merge", "0")
        if not merge.strip("0").rstrip("kKmMgGiIbB"):
            continue
        if remote:
            raise Refused(f"{job.name}: merge={merge}: not with --client, as the count of merged I/Os would be in files on the other machines")
        counted = written.option("dp_stats")
        if not counted or "dp_stats" not in counted.names:
            raise Refused(f"{job.name}: merge={merge}: add dp_stats=${{dp_stats}}, or it is unknown "
                          "how many of fio's I/Os the target got merged into one request")


def _ask(text, job):
    """Have fio parse TEXT, which it gets from JOB, a JobFile with its variables filled in."""
    try:
        done = subprocess.run(["fio", "--parse-only", "-"], input=text.encode("utf-8", "surrogateescape"), capture_output=True,
                              timeout=_PATIENCE_S, check=False, cwd=job.path.parent)
    except OSError as err:
        raise NotMeasured(f"fio: {err.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"{job.name}: fio has not read it within {_PATIENCE_S} s") from None
    if done.returncode:
        raise Refused(f"{job.name}: " + (told(done.stderr.decode(errors="replace"), job)
                                         or f"fio --parse-only: exit status {done.returncode}"))


def cause(directory, settings):
    """What fio said about its failing in a run, for a message; SETTINGS is its JobFile, filled in."""
    return told(system.read(directory / "fio.err"), settings)


def told(errors, settings):
    """What fio did not take of SETTINGS, and what it would have, in one line.

    ERRORS is what fio said on stderr, the last line of which is told if none is about SETTINGS.
    """
    said = [line.strip().removeprefix("fio: ") for line in errors.splitlines() if line.strip()]
    if "failed to load engine" in said[1:]:
        # Why is said first, by the engine itself or by the loader.
        return said[0]
    out = []
    for number, line in enumerate(said):
        failed, bad = re.match(r"failed parsing (\w+)(=.*)?", line), re.match(r"Bad option <(.*)>", line, re.I)
        if failed:
            out.append(_refused(failed[1], failed[2], said[number - 1] if number else "", settings))
        elif bad:
            meant = said[number + 1] if said[number + 1:] and said[number + 1].startswith("Did you mean") else ""
            out.append(f"{bad[1]}: neither fio nor the engine has such an option{'; ' + meant if meant else ''}")
    # Without its engine fio knows none of the engine's options.
    out = [text for text in out if text.startswith("ioengine=")] or out
    # fio ends with words of its own about what an engine has explained before.
    reasons = [line for line in said if not _FIOS_OWN.match(line)]
    return "; ".join(dict.fromkeys(out)) or (reasons or said or [""])[-1]


def _refused(option, value, before, settings):
    """OPTION was refused, with "=VALUE" where fio tells it; BEFORE is the line that fio said just before that."""
    if not value or "${" in value:
        given = dict.fromkeys(o.value for o in settings.options if o.name == option and o.value)
        value = "=" + " or ".join(given) if given else ""
    if option == "ioengine" and before:
        return f"{option}{value}: {before}"
    return f"{option}{value}: {_accepted(option, settings) or 'fio does not take that'}"


def _accepted(option, settings):
    """What fio's help, or the engine's, says that OPTION may be; empty where it says nothing."""
    section = next((s for s in settings.sections if s.option(option)), None)
    engine = section.engine_path if section else ""
    said = system.lines(["fio", f"--enghelp={engine},{option}"]) if engine else []
    if not any("type:" in line for line in said):
        said = system.lines(["fio", f"--cmdhelp={option}"])
    valid = [match[1] for line in said if (match := re.match(r"(?:valid values)?\s*:\s*(\S+)", line))]
    if valid:
        return f"accepted: {', '.join(valid)}"
    about = {key.strip(): value.strip() for key, colon, value in (line.partition(":") for line in said) if colon}
    kind = _TYPES.get(about.get("type", "").partition(" (")[0])
    if not kind:
        return ""
    low, high = (re.search(rf"{end}=(\d+)", about.get("range", "")) for end in ("min", "max"))
    if low and kind == _WHOLE:
        kind += f", {low[1]} to {high[1]}" if high else f", {low[1]} or more"
    return f"fio does not accept that; expected {kind}" + (f" ({about[option]})" if option in about else "")
