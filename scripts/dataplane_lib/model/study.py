# SPDX-License-Identifier: GPL-2.0-only
"""What is to be run: a study's arms, and what each of them stands for."""

import itertools
import re
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import guest_arm, jobfile
from ..errors import Refused
from .server import KEYS, Server, merge_options

# What the runner puts into the environment of every run.
PROVIDED = {"FIO_DATAPLANE", "socket", "uri", "fio_cpus", "dp_stats", "dp_trace", "runtime", "ramp",
            "iops_log", "sample_ms", "file", "port"}

# The protocol of the matrix's original: so many runs of an arm after each other, of which the first is discarded.
ORIGINAL, ORIGINAL_RUNS = "original", 3


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
class Setup:
    """What an arm stands for: the job file, its variables, and who serves it."""
    job: Path
    variables: dict
    server: Server

    def has_server(self):
        """A job that names no socket (noop, null) has nobody to talk to, unless it is given a guest's disk."""
        return self.server.program == guest_arm.PROGRAM or bool(jobfile.variables_of(self.job) & {"socket", "uri"})


@dataclass
class Study:
    """A study after defaults, --short and the command line are applied.

    GROUPS are lists of factors: the combinations of each group, times those of FACTORS, are the arms. CHOICES
    says what a value of a factor stands for, where that is more than an option or a variable. FORM names how the report
    tells it, where it does so in a way of its own (report.write.FORMS); FILL has the file hold
    data, which it does unless holes were asked for: a hole is read without I/O by some servers; CLIENTS are the fio servers that get the job (client.py).
    SEED is what the order of runs is drawn from. With TRACE both sides write down what happens to requests, as far as they are ours.
    FAIL_IF are the limits of --fail-if as they were given, DEAD_BAND is theirs.
    PERCENTILES are those that tables have, the usual ones if empty. JOB_CHANGES tells, in a line a job file, what was changed in copies of the user's own.
    """
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
    sample: float = 1.0
    pin: bool = True
    file: int = 0
    fill: bool = True
    along: str = ""
    form: str = ""
    clients: list = field(default_factory=list)
    conditions: list = field(default_factory=list)
    server: Server = field(default_factory=lambda: Server(program="vhost-user-blk-target"))
    variables: dict = field(default_factory=dict)
    factors: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)
    choices: dict = field(default_factory=dict)
    baseline: dict | None = None
    published: dict | None = None
    source: Path | None = None
    skipped: list = field(default_factory=list)
    trace: bool = False
    fail_if: list = field(default_factory=list)
    dead_band: float = 1.0
    percentiles: list = field(default_factory=list)
    job_changes: list = field(default_factory=list)
    seed: int = field(default_factory=lambda: secrets.randbelow(1 << 32))

    def arms(self):
        """All combinations, each with the name of the baseline it is compared with.

        Another workload (or another driver) is not compared with this one, so every combination of
        those has a baseline of its own; baselines that are no combination come first.
        """
        arms = [Arm(values) for values in self._combinations()]
        apart = self._apart()
        missing = []
        for arm in list(arms):
            base = dict(self.baseline if self.baseline is not None else arms[0].values)
            base.update({name: arm.values[name] for name in apart if name in arm.values})
            known = next((a for a in arms + missing if a.values == base), None)
            if known is None:
                known = Arm(base)
                missing.append(known)
            known.baseline = True
            arm.against = known.name
        for arm in missing:
            arm.against = arm.name
        return missing + arms

    def _combinations(self):
        """The values of every arm but the baselines outside, each once."""
        out = []
        for group in self.groups or [{}]:
            factors = {**group, **self.factors}
            for combination in itertools.product(*factors.values()):
                values = dict(zip(factors, combination))
                if values not in out and not self._is_skipped(values):
                    out.append(values)
        return out

    def _is_skipped(self, values):
        return any(values == skip["values"] for skip in self.skipped)

    def all_factors(self):
        """Every factor with all values that it takes in any group."""
        out = {}
        for group in [*self.groups, self.factors]:
            for name, values in group.items():
                out.setdefault(name, []).extend(v for v in values if v not in out.get(name, ()))
        return out

    def vary(self, name, values):
        """Let NAME take VALUES: in the groups that have it, else in all.

        A group keeps those it had, and gets those that none had; one that is left with none is dropped.
        """
        known = {v for g in self.groups for v in g.get(name, ())}
        if not any(name in g for g in self.groups):
            self.factors[name] = values
            return
        for group in list(self.groups):
            if name in group:
                group[name] = [v for v in values if v in group[name] or v not in known]
                if not group[name]:
                    self.groups.remove(group)

    def fix(self, name, value):
        """Give a variable VALUE, whatever the study and its choices say."""
        if name in self.all_factors():
            raise Refused(f"{name}: is varied; use --vary {name}={value} for that value alone")
        self.variables[name] = value
        for tables in self.choices.values():
            for table in tables.values():
                table.get("variables", {}).pop(name, None)

    def _apart(self):
        """Factors that make another workload, unless the baseline fixes them or nothing else is varied."""
        factors, fixed = self.all_factors(), self.baseline or {}
        apart = [f for f in factors if self.is_workload(f) and f not in fixed]
        return apart if self.baseline is not None or len(apart) < len(factors) else []

    def first_of_all(self):
        """What to say where several variables of the job are varied and all arms are yet compared with the first; empty if not so."""
        factors = self.all_factors()
        if self.baseline is not None or len(factors) < 2 or self._apart() or not all(self.is_workload(f) for f in factors):
            return ""
        *others, last = factors
        return (f"all arms are compared with the first, {self.arms()[0].name}; "
                f"a baseline of {last}={factors[last][0]} (--baseline of sweep, [baseline] of a study) compares within each {' and '.join(others)}")

    def is_workload(self, name):
        """True for a variable of the job file, a choice that changes what fio does, or on which kernel, and a condition."""
        if name in self.conditions:
            return True
        if name in self.choices:
            return any(set(t) & {"job", "variables"} or t.get("program") == guest_arm.PROGRAM for t in self.choices[name].values())
        return name in self.job_variables()

    def jobs(self):
        """The job files of all arms."""
        found = [self._job(v) for v in [*self._combinations(), *([self.baseline] if self.baseline else [])]]
        return list(dict.fromkeys(found)) or [self.job]

    def _job(self, values):
        job = self.job
        for _, _, table in self._chosen(values):
            job = self.job.parent / table["job"] if "job" in table else job
        return job

    def _chosen(self, values):
        """(factor, value, table) of each value that is a choice."""
        for name, value in values.items():
            if name in self.choices:
                table = self.choices[name].get(value)
                if table is None:
                    raise Refused(f"{name}={value}: unknown; accepted: {', '.join(self.choices[name])}")
                yield name, value, table

    def job_variables(self):
        """Names of the ${variables} that the job files use."""
        return set().union(*(jobfile.variables_of(job) for job in self.jobs()))

    def has_target(self):
        """True if any arm has a target."""
        return any(self.setup(arm).has_server() for arm in self.arms())

    def setup(self, arm):
        """The Setup that ARM stands for."""
        job, serving = self._job(arm.values), self.server
        used = jobfile.variables_of(job)
        variables = {k: v for k, v in self.variables.items() if k in used}
        for name, value, table in self._chosen(arm.values):
            serving = serving.changed({k: v for k, v in table.items() if k in KEYS},
                                      f"{self.name}: {name}={value}")
            variables.update({k: str(v) for k, v in table.get("variables", {}).items() if k in used})
        options = []
        for name, value in arm.values.items():
            if name in self.choices:
                continue
            if name in used:
                variables[name] = value
            else:
                options += [f"--{name}", value]
        if serving.program:
            serving = replace(serving, options=merge_options(serving.options, options))
        return Setup(job, variables, serving)

    def traces(self, setup):
        """Which sides of SETUP write a trace: the job's engines, the target."""
        asked = "dp_trace" in jobfile.variables_of(setup.job)
        engine = asked or (self.trace and not self.clients and not setup.server.guest() and any(s.is_ours for s in jobfile.load(setup.job).sections))
        serving = setup.server.target() if setup.has_server() else None
        return engine, bool((asked or self.trace) and serving and serving.program)

    def settings(self):
        """Everything that decided the runs, for result.json."""
        keep = {k: v for k, v in vars(self).items() if k not in ("job", "source", "server", "groups")}
        keep.update(job=self.job.name, factors=self.all_factors(), program=self.server.program,
                    options=self.server.options, command=self.server.command)
        return keep


def words(values, what):
    """A factor's values as the strings that go on a command line."""
    if not isinstance(values, list) or not values:
        raise Refused(f"{what}: expected a list of values")
    texts = [str(v) for v in values]
    twice = {t for t in texts if texts.count(t) > 1}
    if twice:
        raise Refused(f"{what}: {twice.pop()} is given twice")
    return texts
