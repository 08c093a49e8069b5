# SPDX-License-Identifier: GPL-2.0-only
"""fio's json+ output: read, checked for errors, latencies merged."""

import json
import math
from collections import Counter

from .. import files
from ..errors import RunFailed
from ..model.metrics import DIRECTIONS, PERCENTILES, percentile_key
from ..stats import latency

_DIRECTIONS = ("read", "write", "trim")
# The job in a result of fio's client that is the sum of the others.
TOTAL = "All clients"
# What is kept of a job, of a direction and of a kind of latency.
_JOB = ("jobname", "groupid", "error", "job_start", "job_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf",
        "iodepth_level", "iodepth_submit", "iodepth_complete", "hostname", "port")
_PART = ("total_ios", "io_bytes", "iops", "bw_bytes", "runtime", "short_ios", "drop_ios", "iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples")
_LATENCY = ("min", "max", "mean", "stddev", "N")


def load(path):
    """The JSON document in PATH; fio may log lines ahead of it."""
    if not path.exists():
        raise RunFailed(f"fio wrote no result: {path} is not there")
    text = files.read_text(path)
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        doc = json.loads(text[start:])
    except (ValueError, RecursionError) as err:
        said = text.strip().splitlines()
        raise RunFailed(f"fio's result is not JSON ({err}); it begins with: "
                        f"{said[0] if said else 'nothing'}") from None
    if "client_stats" in doc:
        doc["jobs"] = _of_clients(doc)
    check(doc)
    return doc


def _of_clients(doc):
    """The jobs of all servers in DOC, a result of fio's client, named by their server; their sum is none of them."""
    out = [j for j in doc["client_stats"] if j.get("jobname") != TOTAL]
    for job in out:
        job["jobname"] = f"{job['hostname']},{job['port']}: {job['jobname']}" if "hostname" in job else job["jobname"]
    return out


def kept(doc):
    """What a result keeps of DOC: fio's own keys, without what follows from others; latency bins are two lists, [[ns, …], [I/Os, …]]."""
    jobs = []
    for job in doc["jobs"]:
        mine = {k: job[k] for k in _JOB if k in job}
        for d, part in _directions(job).items():
            if part["total_ios"]:
                mine[d] = _kept_part(part)
        if job.get("sync", {}).get("total_ios"):
            mine["sync"] = {"total_ios": job["sync"]["total_ios"], "lat_ns": {k: v for k, v in job["sync"].get("lat_ns", {}).items() if k in _LATENCY}}
        jobs.append(mine)
    return {**{k: doc[k] for k in ("fio version", "timestamp_ms") if k in doc}, "jobs": jobs}


def _kept_part(part):
    out = {k: part[k] for k in _PART if k in part}
    for kind in ("slat_ns", "clat_ns", "lat_ns"):
        found = {k: v for k, v in part.get(kind, {}).items() if k in _LATENCY}
        if found.get("N"):
            out[kind] = found
    bins = sorted((int(ns), count) for ns, count in part.get("lat_ns", {}).get("bins", {}).items())
    if bins:
        out.setdefault("lat_ns", {})["bins"] = [[ns for ns, _ in bins], [count for _, count in bins]]
    return out


def check(doc):
    """Raise RunFailed if fio reports any error, or did nothing."""
    if not doc.get("jobs"):
        raise RunFailed("fio's result has no job in it")
    for job in doc["jobs"]:
        name = job.get("jobname", "?")
        for key in ("error", "total_err", "first_error"):
            if job.get(key):
                raise RunFailed(f"job {name}: {key} is {job[key]}")
        parts = _directions(job)
        if not any(part["total_ios"] for part in parts.values()):
            raise RunFailed(f"job {name}: did no I/O")
        for part in parts.values():
            if part.get("drop_ios"):
                raise RunFailed(f"job {name}: dropped {part['drop_ios']} I/Os")


def _directions(job):
    """{direction: its figures} of JOB, of fio or as kept() has it; with unified_rw_reporting=1 there is but one, 'mixed' (with =both it is their sum)."""
    return {d: job[d] for d in _DIRECTIONS if d in job} or {d: job[d] for d in ("mixed",) if d in job}


def _parts(doc):
    """Every direction of every job in which I/O was done."""
    for job in doc["jobs"]:
        for d, part in _directions(job).items():
            if part["total_ios"]:
                yield job["jobname"], d, part


def bins(doc, direction=None):
    """Total-latency histogram of all jobs, of one DIRECTION or all: Counter of ns -> I/Os."""
    total = Counter()
    for name, d, part in _parts(doc):
        if direction not in (None, d):
            continue
        found = part.get("lat_ns", {}).get("bins")
        if not found:
            raise RunFailed(f"job {name}: {d} has no latency bins"
                            " (it needs lat_percentiles=1, --output-format=json+, and times to be taken)")
        total.update(dict(zip(*found)) if isinstance(found, list) else {int(k): v for k, v in found.items()})
    return total


def percentiles_us(histogram, direction=""):
    """{lat_p50_us: …} of a histogram in ns, which is of a DIRECTION or all; empty where nothing is in it."""
    return {percentile_key(p, direction): ns / 1000 for p, ns in latency.percentiles(histogram, PERCENTILES).items()} if histogram else {}


def _of_direction(doc, direction, weights):
    """Reads', or writes', own metrics; none where there were none."""
    found = [(w, job[direction]) for w, job in zip(weights, doc["jobs"]) if direction in _directions(job) and job[direction]["total_ios"]]
    if not found:
        return {}
    count = sum(part["lat_ns"]["N"] for _, part in found)
    return {f"iops_{direction}": sum(w * part["iops"] for w, part in found), f"bw_{direction}_mib": sum(w * part["bw_bytes"] for w, part in found) / (1 << 20),
            f"lat_{direction}_mean_us": sum(part["lat_ns"]["mean"] * part["lat_ns"]["N"] for _, part in found) / count / 1000,
            **percentiles_us(bins(doc, direction), direction)}


def total_ios(doc):
    """I/Os that fio counted, all jobs."""
    return sum(part["total_ios"] for _, _, part in _parts(doc))


def measured_ms(job):
    """How long JOB measured, ramp left out; of jobs that are one by group_reporting, how long the longest did."""
    # Their job_runtime is the sum of all.
    return max((part.get("runtime", 0) for part in _directions(job).values()), default=0) or job["job_runtime"]


def runtime_ms(doc):
    """How long the longest job measured."""
    return max(measured_ms(job) for job in doc["jobs"])


def shortest_ms(doc):
    """How long the shortest job measured, as far as is known."""
    return min(measured_ms(job) for job in doc["jobs"])


def _cpu(doc, key, weights):
    """% of a CPU of all jobs together; fio gives it in % of job_runtime, which group_reporting makes the sum of all."""
    return sum(w * job[key] * max(1.0, job["job_runtime"] / measured_ms(job)) for w, job in zip(weights, doc["jobs"]))


def iops_of(job):
    """I/Os per second of JOB while it measured, all directions."""
    return sum(part["iops"] for part in _directions(job).values() if part["total_ios"])


def grouped(doc):
    """True where an entry of DOC stands for several jobs (group_reporting): their job_runtime is the sum of theirs."""
    return any(job["job_runtime"] > 1.5 * measured_ms(job) for job in doc["jobs"])


def figures(doc, at_once=None, covered=None):
    """fio's side of a run's metrics; jobs are summed, they run together.

    AT_ONCE is how many of them did on average, where that is known: jobs that had to wait for each other must not be summed
    as if they had not. COVERED, in s, is given of jobs that did not measure side by side all along: the time in which any
    did, over which what each has done is spread.
    """
    parts = [part for _, _, part in _parts(doc)]
    percentiles = percentiles_us(bins(doc))
    count = sum(p["lat_ns"]["N"] for p in parts)
    jobs = len(doc["jobs"])
    share = at_once / jobs if at_once and took_turns(at_once, jobs) else 1
    weights = [measured_ms(job) / 1000 / covered if covered else share for job in doc["jobs"]]
    out = {
        "iops": sum(w * iops_of(job) for w, job in zip(weights, doc["jobs"])),
        "bw_mib": sum(w * part["bw_bytes"] for w, job in zip(weights, doc["jobs"]) for part in _directions(job).values() if part["total_ios"]) / (1 << 20),
        "lat_mean_us": sum(p["lat_ns"]["mean"] * p["lat_ns"]["N"] for p in parts) / count / 1000,
        "fio_user": _cpu(doc, "usr_cpu", weights),
        "fio_system": _cpu(doc, "sys_cpu", weights),
    }
    if not 0 < out["iops"] < math.inf:
        raise RunFailed(f"fio measured {out['iops']} IOPS")
    out["fio_us_per_io"] = (out["fio_user"] + out["fio_system"]) / 100 * 1e6 / out["iops"]
    if at_once:
        out["at_once"] = at_once
    if jobs > 1 and not grouped(doc):
        each = [iops_of(job) for job in doc["jobs"]]
        out["job_spread"] = max(each) / min(each)
    out.update(percentiles)
    for direction in DIRECTIONS:
        out.update(_of_direction(doc, direction, weights))
    return out


def took_turns(at_once, jobs):
    """True where AT_ONCE of JOBS cannot be mere differences in when they start and end."""
    return at_once < 0.75 * jobs
