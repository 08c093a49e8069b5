# SPDX-License-Identifier: GPL-2.0-only
"""runs.jsonl.xz: the one file that a result is. A header, then a line a run; docs/results-format.md tells every key."""

import json
import lzma
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .. import files
from ..host import rtt
from . import figures, fiojson, latency_logs, raw
from ..errors import NotMeasured, RunFailed
from ..model import jobfile, metrics

FILE = "runs.jsonl.xz"
SCHEMA, VERSION = "fio-dataplane runs", 1
# More of a CPU than this (%) used by others spoils a run. Clock ticks and interrupts, which are nobody's, stay below.
FOREIGN = 15
# What a header holds, and of which kind it is.
_HEADER = {"status": str, "study": dict, "host": dict, "limits_rate": list, "job_files": dict, "command": str, "started": str, "has_target": bool, "cpus": dict, "arms": list,
           "took_s": (int, float), "steal_percent": (int, float)}
_STUDY = {"name": str, "title": str, "question": str, "look_for": str, "effect": str, "primary": str, "repeats": int, "warmup": int,
          "runtime": (int, float), "ramp": (int, float), "factors": dict, "variables": dict}
_ARM = {"name": str, "values": dict, "baseline": bool, "against": str}
_CPUS = {"pinned": bool, "note": str}
_RUN = {"name": str, "arm": str, "repeat": int, "warmup": bool, "rtt": dict, "fio": dict, "marks": list}


class Run:
    """One run: FACTS is its line of the file, CPUS the header's; figures are computed from them when they are asked for."""

    def __init__(self, facts, cpus):
        self.facts = facts
        self.cpus = cpus

    def __getattr__(self, name):
        if name in ("name", "arm", "repeat", "warmup", "fio"):
            return self.facts[name]
        raise AttributeError(name)

    @property
    def counts(self):
        """False of a warm-up, and of a run that another one replaced."""
        return not self.warmup and not self.facts.get("replaced")

    @cached_property
    def _figures(self):
        return figures.of_run(self.facts, self.cpus)

    @property
    def metrics(self):
        """{key of model.metrics: value, None where there is none}."""
        return self._figures[0]

    @property
    def threads(self):
        """The target's CPU by kind of thread, None where it was not sampled."""
        return self._figures[1]

    @property
    def foreign(self):
        """% of a CPU that others used."""
        return self._figures[2]

    @property
    def samples(self):
        """IOPS, sample by sample."""
        return self._figures[3]

    @property
    def rtt(self):
        """The round trip between the CPUs in ns, before and after; of a run that was not pinned to them it is nobody's."""
        return self.facts["rtt"] if self.cpus["pinned"] else {"before": None, "after": None}

    @property
    def distance(self):
        """The mean of both in ns, None where they were not measured."""
        before, after = self.rtt["before"], self.rtt["after"]
        return None if before is None or after is None else (before + after) / 2

    @cached_property
    def histogram(self):
        """Counter of ns (the middle of fio's bin) -> I/Os, all jobs."""
        return fiojson.bins(self.fio)

    @cached_property
    def histograms(self):
        """The same by direction, {"": all, "read": …, "write": …}."""
        return {"": self.histogram, **{d: fiojson.bins(self.fio, d) for d in metrics.DIRECTIONS}}

    def histogram_of(self, job):
        """The histogram of the job called JOB, all of them if None."""
        return fiojson.bins({"jobs": [j for j in self.fio["jobs"] if job in (None, j["jobname"])]})

    def latency_log(self, job=None):
        """The latency_logs.Log of JOB, or of all jobs; None where none was kept."""
        return latency_logs.log(self.facts["latency_log"], job)


@dataclass
class Result:
    """What is in the file of the result in the directory PLACE: HEADER, and RUNS in the order they were made, warm-ups too."""
    header: dict
    runs: list
    place: Path

    def counted(self):
        return [run for run in self.runs if run.counts]

    def by_name(self):
        """{name: Run}."""
        return {run.name: run for run in self.runs}

    def of_arm(self, name):
        """The counted runs of an arm by their repeat."""
        return sorted((run for run in self.counted() if run.arm == name), key=lambda run: run.repeat)


def load(place):
    """The Result in the directory PLACE; NotMeasured, with a line that names the file, where it is none.

    One of a version that kept every file of every run (meta.json and raw/) is read from those.
    """
    place = Path(place)
    if (place / FILE).exists():
        return _checked(_read(place / FILE), place)
    return of_raw(place)


def holds_result(place):
    """Is there anything in PLACE that load() would look at?"""
    return (place / FILE).exists() or (place / "meta.json").exists()


def fold(place, keep_raw=False):
    """Put the finished study in PLACE into its one file; what the runs left goes then, unless KEEP_RAW."""
    write(of_raw(place))
    if not keep_raw:
        shutil.rmtree(place / "raw")
        (place / "meta.json").unlink()


def write(result):
    """Write RESULT into its place, whole or not at all."""
    lines = [{"schema": SCHEMA, "version": VERSION, **result.header}, *(run.facts for run in result.runs)]
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    files.write_bytes(result.place / FILE, lzma.compress(text.encode("utf-8", "surrogateescape"), preset=6 | lzma.PRESET_EXTREME))


def of_raw(place):
    """The Result of what the runs of a complete study left in PLACE."""
    meta = files.read_json(place / "meta.json")
    with files.reading(place / "meta.json"):
        if meta["status"] != "complete":
            reason = meta.get("reason", "the study did not finish")
            raise NotMeasured(f"{place}: refused: {meta['status']}: {reason}")
        jobs = {path.name: jobfile.kept(path) for path in sorted(place.glob("*.fio"))}
        header = {**meta, "job_files": {name: job.text for name, job in jobs.items()},
                  "limits_rate": [name for name, job in jobs.items()
                                  if job.sections and all(s.get("rate") or s.get("rate_iops") for s in job.sections)]}
        cpus = header["cpus"]
    runs = []
    for directory in sorted(path for path in (place / "raw").iterdir() if path.is_dir()):
        try:
            with files.reading(directory):
                runs.append(Run({**raw.facts(directory), "marks": []}, cpus))
                runs[-1].metrics  # noqa: B018: what cannot be computed is told with the run's name
        except RunFailed as err:
            raise NotMeasured(f"{place}: refused: {directory.name}: {err}") from None
    with files.reading(place / "meta.json"):
        _places(runs)
        _replace(runs, header)
        _mark([run for run in runs if not run.warmup], header["has_target"])
    return _checked(Result(header, runs, place), place)


def _places(runs):
    """Say of each run which one of its round it was."""
    rounds = {}
    for run in sorted(runs, key=lambda run: run.facts["number"]):
        key = (run.warmup, run.repeat)
        run.facts["place"] = rounds[key] = rounds.get(key, 0) + 1


def _replace(runs, header):
    """Mark the runs in the place of which others were made."""
    replaced = _again(header)[0]
    for run in runs:
        if run.arm in replaced and not run.warmup and run.repeat <= header["study"]["repeats"]:
            run.facts["replaced"] = True


def _again(header):
    """(arms whose runs were made again, arms that ran beside them and have twice as many)."""
    known = header.get("again", {"replaced": {}, "beside": []})
    if not isinstance(known, dict) or not isinstance(known.get("replaced"), dict) or not isinstance(known.get("beside"), list):
        raise NotMeasured(f"{FILE}: again is {str(known)[:40]!r}")
    for ends in known["replaced"].values():
        if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(v, (int, float)) for v in ends):
            raise NotMeasured(f"{FILE}: again: {str(ends)[:40]!r} are no two figures")
    return known["replaced"], known["beside"]


def _mark(runs, has_target):
    """Say of each run what disturbed it."""
    usual = rtt.usual([run.facts for run in runs])
    for run in runs:
        marks = run.facts["marks"] = rtt.marks(run.facts["rtt"]["before"], run.facts["rtt"]["after"], usual)
        if run.foreign > FOREIGN:
            marks.append(f"others used {run.foreign:.0f} % of a CPU")
        if run.threads is None and has_target:
            marks.append("the target's CPU was not sampled: this program itself got none")


def _read(path):
    """The Result in the file PATH."""
    header, runs = None, []
    with files.reading(path):
        # A FIFO would be waited for.
        data = files.read_bytes(path)
        try:
            lines = lzma.decompress(data).decode("utf-8", "surrogateescape").splitlines()
        except lzma.LZMAError as err:
            raise NotMeasured(f"{path}: {err}") from None
        if len(lines) < 2:
            raise NotMeasured(f"{path}: holds no runs")
        header, *runs = map(json.loads, lines)
        if header.get("schema") != SCHEMA:
            raise NotMeasured(f"{path}: not a file of runs: its first line does not name the schema '{SCHEMA}'")
        if header.get("version") != VERSION:
            raise NotMeasured(f"{path}: version {header.get('version')} of the format, this dataplane reads {VERSION}")
        return Result(header, [Run(facts, header["cpus"]) for facts in runs], path.parent)


def _checked(result, place):
    """RESULT, refused unless it holds what every command relies upon."""
    path = place / FILE
    if not path.exists():
        path = place / "meta.json"
    with files.reading(path):
        _kinds(result.header, _HEADER, path)
        for key, kinds in (("study", _STUDY), ("cpus", _CPUS)):
            _kinds(result.header[key], kinds, f"{path}: {key}")
        for arm in result.header["arms"]:
            _kinds(arm, _ARM, f"{path}: an arm")
        wanted = result.header["study"].get("percentiles", [])
        if not isinstance(wanted, list) or not all(isinstance(p, (int, float)) and 0 < p < 100 for p in wanted):
            raise NotMeasured(f"{path}: percentiles is {str(wanted)[:40]!r}")
        metrics.want(wanted)
        if not metrics.known(result.header["study"]["primary"]):
            raise NotMeasured(f"{path}: no metric is called {result.header['study']['primary'][:40]}")
        for run in result.runs:
            _kinds(run.facts, _RUN, f"{path}: run {run.facts.get('name')}")
            try:
                fiojson.check(run.fio)
                run.metrics, run.histogram, run.latency_log()  # noqa: B018: see of_raw()
            except RunFailed as err:
                raise NotMeasured(f"{path}: run {run.name}: {err}") from None
        if result.header["status"] != "complete":
            raise NotMeasured(f"{path}: refused: {result.header['status']}")
        repeats = result.header["study"]["repeats"]
        names = [arm["name"] for arm in result.header["arms"]]
        twice = _again(result.header)[1]
        for name in names:
            there, wanted = len(result.of_arm(name)), repeats * (2 if name in twice else 1)
            if there != wanted:
                raise NotMeasured(f"{place}: refused: {there} runs of {name} are there, the study has {wanted}")
        stray = ({arm["against"] for arm in result.header["arms"]} | {run.arm for run in result.runs}) - set(names)
        if stray:
            raise NotMeasured(f"{path}: {sorted(stray)[0]} is not an arm of the study")
    return result


def _kinds(found, wanted, what):
    for key, kind in wanted.items():
        if not isinstance(found.get(key), kind):
            raise NotMeasured(f"{what}: {'no ' + key if key not in found else key + ' is ' + repr(found[key])[:40]}")
