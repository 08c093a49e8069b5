# SPDX-License-Identifier: GPL-2.0-only
"""study.toml: found, read, and checked before anything runs."""

import tomllib
from pathlib import Path

from .. import paths, units
from . import jobfile, metrics, server, study, targets
from ..errors import Faults, Refused, near

_TOP = {"title", "question", "job", "primary", "effect", "warmup", "repeats", "runtime", "ramp",
        "sample", "pin", "file", "along", "form", "conditions", "look_for", "target", "variables", "factors", "arms",
        "choices", "baseline", "published", "short"}
_SHORT = {"warmup", "repeats", "runtime", "ramp", "sample", "factors", "arms", "variables"}
# How the report may tell it; "match" is for a command of its own.
_FORMS = ("", "matrix", "lifecycle")
_CHOICE = server.KEYS | {"job", "variables"}
_PUBLISHED = {"source", "factor", "order", "values", "unit", "restless", "steady"}


def _unknown(table, known, where):
    for key in table:
        if key not in known:
            raise Refused(f"{where}: {key}: unknown; accepted: {', '.join(sorted(known))}")


def load(path, use_short=False):
    """Read a study.toml (PATH is the file)."""
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as err:
        raise Refused(f"{path}: {err}") from None
    _unknown(table, _TOP, path)
    if use_short:
        _shorten(table, path)
    if "job" not in table:
        raise Refused(f"{path}: job: missing; expected the job file's name")
    out = study.Study(name=path.parent.name, job=path.parent / table["job"], source=path)
    for key in ("title", "question", "look_for", "effect", "primary", "along", "form"):
        setattr(out, key, str(table.get(key, getattr(out, key))).strip())
    for key in ("warmup", "repeats"):
        value = table.get(key, getattr(out, key))
        if not isinstance(value, int):
            raise Refused(f"{path}: {key}={value}: expected a whole number")
        setattr(out, key, value)
    for key in ("runtime", "ramp", "sample"):
        setattr(out, key, units.seconds(table.get(key, getattr(out, key)), f"{path}: {key}"))
    if out.form not in _FORMS:
        raise Refused(f"{path}: form={out.form}: unknown; accepted: {', '.join(filter(None, _FORMS))}")
    out.conditions = study.words(table["conditions"], f"{path}: conditions") if "conditions" in table else []
    out.pin = _boolean(table.get("pin", True), f"{path}: pin")
    out.file, out.fill = file_size(table.get("file", 0), f"{path}: file")
    target = table.get("target", {})
    _unknown(target, server.KEYS, f"{path} [target]")
    out.server = out.server.changed(target, f"{path} [target]")
    out.variables = {k: str(v) for k, v in table.get("variables", {}).items()}
    out.factors = _factors(table.get("factors", {}), f"{path}: factors")
    out.groups = [_factors(g, f"{path}: arms") for g in table.get("arms", [])]
    out.choices = _choices(table.get("choices", {}), path)
    out.published = table.get("published")
    _unknown(out.published or {}, _PUBLISHED, f"{path} [published]")
    if "baseline" in table:
        out.baseline = {k: str(v) for k, v in table["baseline"].items()}
    return out


def _shorten(table, path):
    """Let [short] replace what it names."""
    brief = table.get("short")
    if brief is None:
        raise Refused(f"{path}: --short needs a [short] table, which this study does not have")
    _unknown(brief, _SHORT, f"{path} [short]")
    for key, value in brief.items():
        if isinstance(value, dict):
            table.setdefault(key, {}).update(value)
        else:
            table[key] = value


def file_size(text, what):
    """(bytes, is it filled with data) of TEXT: a size, and ",holes" behind it for a file that is sparse."""
    size, sep, word = str(text).partition(",")
    if sep and word != "holes":
        raise Refused(f"{what}={text}: expected a size, such as 256m, or SIZE,holes for a sparse file")
    return units.size(size, what), not sep


def _boolean(value, what):
    if not isinstance(value, bool):
        raise Refused(f"{what}={value}: expected true or false")
    return value


def _factors(table, what):
    return {name: study.words(values, f"{what}.{name}") for name, values in table.items()}


def _choices(table, path):
    """{factor: {value: settings}}, each setting known."""
    for name, values in table.items():
        for value, settings in values.items():
            _unknown(settings, _CHOICE, f"{path} [choices.{name}.{value}]")
    return table


def find(name):
    """The study.toml that NAME (a study under jobfiles/, or a path) means."""
    path = _find_study(name)
    if path:
        return path
    if _known_job(name):
        raise Refused(f"{name} is a job file, not a study; use: dataplane sweep {name} --vary NAME=A,B,…")
    if name.endswith(".fio"):
        find_job(name)
    raise Refused(f"study not found: {name}{near(name, [p.parent.name for p in all_studies()])}; accepted: a path to a study.toml, or one of {_names(all_studies())}")


def _find_study(name):
    for path in (Path(name), paths.jobfiles() / name):
        if path.is_dir() and (path / "study.toml").exists():
            return (path / "study.toml").resolve()
        if path.is_file() and path.suffix == ".toml":
            return path.resolve()
    return None


def find_job(name):
    """The job file that NAME (one of jobfiles/, or a path) means."""
    path = _known_job(name)
    if not path:
        raise Refused(f"job file not found: {name}")
    return path


def _known_job(name):
    for path in (Path(name), paths.jobfiles() / name):
        if path.is_file():
            return path.resolve()
    return None


def lent(name, program=None):
    """The job, variables and target of NAME, a job file or a study, with nothing varied; PROGRAM replaces its target."""
    path, job = _find_study(name), _known_job(name)
    if path:
        out = load(path)
        out.factors, out.groups, out.choices, out.baseline, out.along, out.form = {}, [], {}, None, "", ""
        out.published, out.look_for, out.question, out.effect, out.source = None, "", "", "", None
    elif job:
        program = program or targets.for_job(job)
        out = study.Study(name=job.name, job=job)
    else:
        known = [*(p.parent.name for p in all_studies()), *(p.name for p in all_jobs())]
        raise Refused(f"job file or study not found: {name}{near(name, known)}; accepted: a path, or one of {', '.join(known)}")
    if program:
        targets.check_program(program)
        out.server = server.Server(program=program)
    return out


def _names(found):
    return ", ".join(p.parent.name if p.suffix == ".toml" else p.name for p in found) or "none"


def all_jobs():
    """Every job file that belongs to no study."""
    return sorted(paths.jobfiles().glob("*.fio"))


def all_studies():
    """Every study.toml under jobfiles/."""
    return sorted(paths.jobfiles().glob("*/study.toml"))


def check(chosen):
    """Refuse what could not run, or would not measure what it says."""
    for job in (chosen.job, *chosen.jobs()):
        if not job.is_file():
            raise Refused(f"job file not found: {job}")
    faults = Faults()
    for job in chosen.jobs():
        faults.check(check_job, job)
    _check_numbers(chosen, faults)
    _check_variables(chosen, faults)
    # An arm is what the others are not wrong about.
    faults.raise_any()
    for arm in chosen.arms():
        faults.check(_check_arm, chosen, arm)
    faults.raise_any()


def check_job(job):
    """Refuse a job file whose figures could not be compared."""
    if not job.is_file():
        raise Refused(f"job file not found: {job}")
    read, faults = jobfile.load(job), Faults()
    read.require_jobs()
    for section in read.sections:
        if not section.is_set("lat_percentiles"):
            faults.add(f"{job.name}: [{section.name}]: add lat_percentiles=1 (required to compare latency)")
        untimed = [name for name in ("gtod_reduce", "disable_lat") if section.is_set(name)]
        if untimed:
            faults.add(f"{job.name}: [{section.name}]: remove {untimed[0]} (it disables the latencies that are compared)")
    if read.in_turn():
        faults.add(f"{job.name}: jobs do not run at the same time, so their figures cannot be added up: {read.in_turn()}")
    faults.raise_any()


def _check_numbers(chosen, faults):
    if not chosen.all_factors():
        faults.add(f"{chosen.name}: nothing to vary (factors, or --vary NAME=A,B,…, such as --vary poll=off,adaptive)")
    faults.check(metrics.check, chosen.primary, f"primary={chosen.primary}")
    if chosen.along and chosen.along not in chosen.all_factors():
        faults.add(f"along={chosen.along}: not a factor; accepted: {', '.join(chosen.all_factors())}")
    if chosen.repeats < 1:
        faults.add(f"repeats={chosen.repeats}: must be 1 or more")
    if chosen.warmup < 0:
        faults.add(f"warmup={chosen.warmup}: must be 0 or more")
    if chosen.runtime < 0.5:
        faults.add(f"runtime={chosen.runtime:g}: must be 0.5 s or more, or the CPU of a run cannot be sampled")
    elif "iops_log" in chosen.job_variables() and not 0.1 <= chosen.sample <= chosen.runtime / 2:
        faults.add(f"sample={chosen.sample:g}: must be 0.1 s to half of the runtime, {chosen.runtime:g} s")


def _check_variables(chosen, faults):
    used, factors = chosen.job_variables(), chosen.all_factors()
    given = set(chosen.variables) | {f for f in factors if f not in chosen.choices}
    given |= {v for arm in chosen.arms() for v in chosen.setup(arm).variables}
    for job in chosen.jobs():
        for name in sorted(jobfile.variables_of(job) - study.PROVIDED - given):
            faults.add(f"{job.name}: ${{{name}}} has no value; set it with --set {name}=…, in the environment, or in [variables]")
    for name in sorted(set(chosen.variables) - used):
        faults.add(f"{chosen.name}: variable {name} is not used in {chosen.job.name}")
    for name in sorted(study.PROVIDED & set(factors)):
        faults.add(f"{name}: cannot be varied, dataplane sets it itself")


def _check_arm(chosen, arm):
    """What is varied must change something, and $file must have a size."""
    setup = chosen.setup(arm)
    setup.server.guest()
    if setup.server.program and setup.has_server():
        targets.check_pair(jobfile.load(setup.job), setup.server.program)
    used = jobfile.variables_of(setup.job)
    options = [f for f in arm.values if f not in used and f not in chosen.choices]
    if options and not setup.has_server():
        raise Refused(f"{setup.job}: uses neither a target nor ${{{options[0]}}}, so {options[0]} changes nothing")
    if setup.server.command is not None:
        for name in options:
            if not setup.server.uses(name):
                raise Refused(f"factor {name} is neither ${name} in the target's command nor ${{{name}}} in {setup.job}")
    given = server.options(setup.server.options)
    if chosen.file and given.get("backend") == "file:$file" and "size" in given and units.size(given["size"], "--size") > chosen.file:
        raise Refused(f"{chosen.name}: --size {given['size']} is more than $file has, {chosen.file} bytes; use --file {given['size']}")
    if not chosen.file and (setup.server.uses("file") or "file" in used):
        raise Refused(f"{chosen.name}: $file is used, but the study gives no file = SIZE")
