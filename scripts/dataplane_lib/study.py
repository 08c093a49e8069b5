# SPDX-License-Identifier: GPL-2.0-only
"""What is to be run: a study.toml, or a job file with --vary, read and checked."""

import itertools
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from . import metrics, paths, units
from .errors import Refused

# What the runner puts into the environment of every run.
PROVIDED = {"FIO_DATAPLANE", "socket", "uri", "fio_cpus", "dp_stats", "runtime", "ramp"}

_TOP = {"title", "question", "job", "primary", "effect", "warmup", "repeats",
        "runtime", "ramp", "look_for", "target", "variables", "factors",
        "baseline", "short"}
_SHORT = {"warmup", "repeats", "runtime", "ramp", "factors", "variables"}
_TARGET = {"program", "options", "command"}


@dataclass
class Arm:
    """One combination of factor values: what is compared with the others."""
    values: dict
    baseline: bool = False
    against: str = ""

    @property
    def name(self):
        return " ".join(f"{k}={v}" for k, v in self.values.items()) or "as-is"

    @property
    def slug(self):
        text = "-".join(str(v) for v in self.values.values()) or "as-is"
        return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")


@dataclass
class Study:
    """A study after defaults, --short and the command line are applied."""
    name: str
    job: Path
    title: str = ""
    question: str = ""
    look_for: str = ""
    effect: str = ""
    primary: str = "iops"
    warmup: int = 1
    repeats: int = 3
    runtime: float = 2.0
    ramp: float = 0.3
    program: str | None = "vhost-user-blk-target"
    options: list = field(default_factory=list)
    command: list | None = None
    variables: dict = field(default_factory=dict)
    factors: dict = field(default_factory=dict)
    baseline: dict | None = None
    source: Path | None = None

    def arms(self):
        """All combinations, each with the name of the baseline it is compared with.

        A varied job variable is another workload (or another driver), so every combination of
        those has a baseline of its own; baselines that are no combination come first.
        """
        arms = [Arm(dict(zip(self.factors, combination)))
                for combination in itertools.product(*self.factors.values())]
        apart = self._workload()
        missing = []
        for arm in list(arms):
            base = dict(self.baseline if self.baseline is not None else arms[0].values)
            base.update({name: arm.values[name] for name in apart})
            known = next((a for a in arms + missing if a.values == base), None)
            if known is None:
                known = Arm(base)
                missing.append(known)
            known.baseline = True
            arm.against = known.name
        for arm in missing:
            arm.against = arm.name
        return missing + arms

    def _workload(self):
        """Varied job variables that the baseline does not fix, if anything else is varied too."""
        fixed = self.baseline or {}
        apart = [f for f in self.factors if f in self.job_variables() and f not in fixed]
        return apart if self.baseline is not None or len(apart) < len(self.factors) else []

    def job_text(self):
        """The job file's text without its comments."""
        return "\n".join(line for line in self.job.read_text().splitlines()
                         if not line.lstrip().startswith((";", "#")))

    def job_variables(self):
        """Names of the ${variables} that the job file uses."""
        return set(re.findall(r"\$\{([^}]+)\}", self.job_text()))

    def has_target(self):
        """A job that names no socket (noop, null) has nobody to talk to."""
        return bool(self.job_variables() & {"socket", "uri"})

    def split(self, arm):
        """(job variables, target options) that ARM stands for."""
        used = self.job_variables()
        variables = dict(self.variables)
        options = []
        for name, value in arm.values.items():
            if name in used:
                variables[name] = value
            else:
                options += [f"--{name}", value]
        return variables, options

    def settings(self):
        """Everything that decided the runs, for result.json."""
        keep = {k: v for k, v in vars(self).items() if k not in ("job", "source")}
        keep["job"] = self.job.name
        return keep


def words(values, what):
    """A factor's values as the strings that go on a command line."""
    if not isinstance(values, list) or not values:
        raise Refused(f"{what}: wants a list of values")
    texts = [str(v) for v in values]
    twice = {t for t in texts if texts.count(t) > 1}
    if twice:
        raise Refused(f"{what}: {twice.pop()} is given twice")
    return texts


def merge_options(base, override):
    """BASE with the options that OVERRIDE names replaced, the others kept."""
    def pairs(tokens):
        out = []
        for token in tokens:
            if token.startswith("--"):
                name, sep, value = token.partition("=")
                out.append([name, value] if sep else [name])
            elif out:
                out[-1].append(token)
            else:
                raise Refused(f"target options: {token}: wants --option first")
        return out
    over = pairs(override)
    named = {p[0] for p in over}
    kept = [p for p in pairs(base) if p[0] not in named]
    return [token for pair in kept + over for token in pair]


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
    target = table.get("target", {})
    _unknown(target, _TARGET, f"{path} [target]")
    if use_short:
        brief = table.get("short")
        if brief is None:
            raise Refused(f"{path}: has no [short] table, so --short means nothing")
        _unknown(brief, _SHORT, f"{path} [short]")
        for key, value in brief.items():
            if isinstance(value, dict):
                table.setdefault(key, {}).update(value)
            else:
                table[key] = value
    if "job" not in table:
        raise Refused(f"{path}: job: missing; wants the job file's name")
    study = Study(name=path.parent.name, job=path.parent / table["job"], source=path)
    for key in ("title", "question", "look_for", "effect", "primary"):
        setattr(study, key, str(table.get(key, getattr(study, key))).strip())
    for key in ("warmup", "repeats"):
        value = table.get(key, getattr(study, key))
        if not isinstance(value, int):
            raise Refused(f"{path}: {key}={value}: wants a whole number")
        setattr(study, key, value)
    for key in ("runtime", "ramp"):
        setattr(study, key, units.seconds(table.get(key, getattr(study, key)),
                                          f"{path}: {key}"))
    study.program = target.get("program", study.program)
    study.options = shlex.split(target.get("options", ""))
    if "command" in target:
        study.command = shlex.split(target["command"])
        study.program = None
    study.variables = {k: str(v) for k, v in table.get("variables", {}).items()}
    study.factors = {k: words(v, f"{path}: factors.{k}")
                     for k, v in table.get("factors", {}).items()}
    if "baseline" in table:
        study.baseline = {k: str(v) for k, v in table["baseline"].items()}
    return study


def find(name):
    """The study.toml that NAME (a study under jobfiles/, or a path) means."""
    for path in (Path(name), paths.jobfiles() / name):
        if path.is_dir() and (path / "study.toml").exists():
            return (path / "study.toml").resolve()
        if path.is_file() and path.suffix == ".toml":
            return path.resolve()
    known = ", ".join(p.parent.name for p in all_studies()) or "none"
    raise Refused(f"{name}: no such study; accepted: a path to a study.toml, or one of {known}")


def all_studies():
    """Every study.toml under jobfiles/."""
    return sorted(paths.jobfiles().glob("*/study.toml"))


def check(study):
    """Refuse what could not run, or would not measure what it says."""
    job = study.job
    if not job.is_file():
        raise Refused(f"{job}: no such job file")
    if not study.factors:
        raise Refused(f"{study.name}: nothing to vary (factors, or --vary NAME=A,B,…)")
    if study.primary not in metrics.BY_KEY:
        raise Refused(f"primary={study.primary}: unknown metric; accepted: "
                      + ", ".join(metrics.BY_KEY))
    if study.repeats < 1:
        raise Refused(f"repeats={study.repeats}: wants 1 or more")
    if study.warmup < 0:
        raise Refused(f"warmup={study.warmup}: wants 0 or more")
    if study.runtime < 0.5:
        raise Refused(f"runtime={study.runtime:g}: wants 0.5 s or more,"
                      " or the CPU of a run cannot be sampled")
    text = study.job_text()
    if not re.search(r"^\s*lat_percentiles\s*=\s*1", text, re.M):
        raise Refused(f"{job}: does not set lat_percentiles=1, and total latency is what is compared")
    if re.search(r"^\s*(stonewall|wait_for_previous)\b", text, re.M):
        raise Refused(f"{job}: has jobs that wait for each other (stonewall): their figures cannot be summed")
    known = PROVIDED | set(study.variables) | set(study.factors)
    for name in sorted(study.job_variables() - known):
        raise Refused(f"{job}: ${{{name}}} is given no value; set it with --set {name}=… or [variables]")
    for name in sorted(set(study.variables) - study.job_variables()):
        raise Refused(f"{study.name}: variable {name} is not used in {job}")
    reserved = PROVIDED & set(study.factors)
    if reserved:
        raise Refused(f"{reserved.pop()}: cannot be varied, dataplane sets it itself")
    options = [f for f in study.factors if f not in study.job_variables()]
    if options and not study.has_target():
        raise Refused(f"{job}: uses neither a target nor ${{{options[0]}}}, so {options[0]} changes nothing")
    if study.command is not None:
        for name in options:
            if not any(f"{{{name}}}" in word for word in study.command):
                raise Refused(f"factor {name} is neither {{{name}}} in the target's command nor ${{{name}}} in {job}")
