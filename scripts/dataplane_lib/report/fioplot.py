# SPDX-License-Identifier: GPL-2.0-only
"""dataplane export --fio-plot DIR: a directory an arm, as bench-fio leaves them: fio's JSON with the job's options, a file a depth and number of jobs.

fio-plot finds its way by "job options" (rw, bs, iodepth, numjobs) of the first job, and reads iops, bw, lat_ns and the shares of latencies in classes.
Arms that differ in nothing but depth and number of jobs share a directory.
"""

import json
import re
import tempfile
from pathlib import Path

from .. import files
from ..model import jobfile
from ..read import fiojson
from ..errors import Refused

# The classes of fio's own latency_ns, latency_us and latency_ms: up to so many of the unit.
_CLASSES = {"latency_ns": (1, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)), "latency_us": (1000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
            "latency_ms": (1000000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000))}


def export(stored, place):
    """Write the tree for STORED, a store.Result, to the new directory PLACE; returns the files."""
    place = Path(place)
    try:
        place.mkdir(parents=True)
    except OSError as err:
        raise Refused(f"--fio-plot {place}: {err.strerror}") from None
    out, made = [], []
    for arm in stored.header["arms"]:
        runs = sorted(stored.of_arm(arm["name"]), key=lambda run: run.metrics["iops"] or 0)
        made.append((arm["values"], _document(stored, runs[len(runs) // 2])))
    depths = _depths([(values, doc["jobs"][0]["job options"]) for values, doc in made])
    for values, doc in made:
        options = doc["jobs"][0]["job options"]
        directory = place / _name(values, depths)
        directory.mkdir(exist_ok=True)
        path = directory / f"{options['rw']}-{options['bs']}-{options['iodepth']}-{options['numjobs']}.json"
        if path.exists():
            raise Refused(f"--fio-plot: {path.name} of {directory.name}: two arms differ in what fio-plot has no place for")
        files.write_json(path, doc)
        out.append(path)
    return out


def _depths(arms):
    """The factors that are the depth or the number of jobs, whatever they are called, of ARMS: [(values, job options)]."""
    names = {name for values, _ in arms for name in values}
    return {name for name in names if len({values.get(name) for values, _ in arms}) > 1
            and any(all(values.get(name) == options[key] for values, options in arms) for key in ("iodepth", "numjobs"))}


def _name(values, depths):
    text = "-".join(f"{k}-{v}" for k, v in values.items() if k not in depths) or "all"
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text)[:100]


def _document(stored, run):
    """fio's JSON for RUN, with the options of its job file."""
    sections = _sections(stored, run)
    jobs = []
    for number, job in enumerate(run.fio["jobs"]):
        section = sections[min(job.get("groupid", number), len(sections) - 1)] if sections else None
        mine = {**job, "job options": _options(section), **_classes(fiojson.bins({"jobs": [job]}))}
        for direction in ("read", "write", "trim"):
            part = mine.get(direction)
            if part:
                # In KiB/s, as fio has it.
                mine[direction] = {"iops_stddev": 0.0, **{k: v for k, v in part.items() if k not in ("slat_ns", "clat_ns")}, "bw": int(part["bw_bytes"] / 1024),
                                   "lat_ns": {"stddev": 0.0, **{k: v for k, v in part["lat_ns"].items() if k != "bins"}}}
            else:
                mine[direction] = {"iops": 0.0, "iops_stddev": 0.0, "bw": 0, "bw_bytes": 0, "total_ios": 0, "lat_ns": {"mean": 0.0, "stddev": 0.0}}
        jobs.append(mine)
    return {"fio version": run.fio.get("fio version", "fio"), "timestamp_ms": run.fio.get("timestamp_ms", 0), "global options": {}, "jobs": jobs}


def _sections(stored, run):
    """The sections of the job file that RUN was made of, filled in."""
    known = stored.header.get("job_files", {})
    used = [Path(word).name for word in str(run.facts.get("fio_command")).split() if Path(word).name in known]
    text = known.get(used[0] if used else "job.fio") or next(iter(known.values()), "")
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "job.fio"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return jobfile.load(path).filled(run.facts.get("environment", {})).sections


def _options(section):
    """What fio-plot asks for; what the job leaves out is fio's own choice."""
    usual = {"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1"}
    found = {o.key: o.value or "1" for o in section.options} if section else {}
    return {**usual, **{k: v for k, v in found.items() if "$" not in v}}


def _classes(bins):
    """Shares, in %, of the I/Os by fio's classes of latency."""
    total, out = sum(bins.values()) or 1, {}
    left = dict(bins)
    for name, (unit, ends) in _CLASSES.items():
        out[name] = {}
        for end in ends:
            here = [ns for ns in left if ns < end * unit]
            out[name][str(end)] = round(100 * sum(left.pop(ns) for ns in here) / total, 6)
    out["latency_ms"][">=2000"] = round(100 * sum(left.values()) / total, 6)
    return out
