# SPDX-License-Identifier: GPL-2.0-only
"""fio's json+ output: read, checked for errors, latencies merged."""

import json
import math
from collections import Counter

from ..run import client
from ..errors import RunFailed
from ..model.metrics import PERCENTILES, percentile_key
from ..stats import latency

_DIRECTIONS = ("read", "write", "trim")


def load(path):
    """The JSON document in PATH; fio may log lines ahead of it."""
    try:
        text = path.read_text()
    except OSError as err:
        raise RunFailed(f"fio wrote no result: {err}") from None
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        doc = json.loads(text[start:])
    except ValueError as err:
        said = text.strip().splitlines()
        raise RunFailed(f"fio's result is not JSON ({err}); it begins with: "
                        f"{said[0] if said else 'nothing'}") from None
    if "client_stats" in doc:
        doc["jobs"] = client.jobs(doc)
    check(doc)
    return doc


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
    """{direction: its figures} of JOB; with unified_rw_reporting=1 there is but one, 'mixed' (with =both it is their sum)."""
    return {d: job[d] for d in _DIRECTIONS if d in job} or {d: job[d] for d in ("mixed",) if d in job}


def _parts(doc):
    """Every direction of every job in which I/O was done."""
    for job in doc["jobs"]:
        for d, part in _directions(job).items():
            if part["total_ios"]:
                yield job["jobname"], d, part


def bins(doc):
    """Total-latency histogram of all jobs: Counter of ns -> I/Os."""
    total = Counter()
    for name, d, part in _parts(doc):
        found = part.get("lat_ns", {}).get("bins")
        if not found:
            raise RunFailed(f"job {name}: {d} has no latency bins"
                            " (it needs lat_percentiles=1, --output-format=json+, and times to be taken)")
        total.update({int(k): v for k, v in found.items()})
    return total


def percentiles_us(histogram):
    """{lat_p50_us: …} of a histogram in ns."""
    return {percentile_key(p): ns / 1000 for p, ns in latency.percentiles(histogram, PERCENTILES).items()}


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


def _cpu(doc, key):
    """% of a CPU of all jobs together; fio gives it in % of job_runtime, which group_reporting makes the sum of all."""
    return sum(job[key] * max(1.0, job["job_runtime"] / measured_ms(job)) for job in doc["jobs"])


def figures(doc, at_once=None):
    """fio's side of a run's metrics; jobs are summed, they run together.

    AT_ONCE is how many of them did on average, where that is known: jobs that
    had to wait for each other must not be summed as if they had not.
    """
    parts = [part for _, _, part in _parts(doc)]
    percentiles = percentiles_us(bins(doc))
    count = sum(p["lat_ns"]["N"] for p in parts)
    jobs = len(doc["jobs"])
    share = at_once / jobs if at_once and took_turns(at_once, jobs) else 1
    out = {
        "iops": share * sum(p["iops"] for p in parts),
        "bw_mib": share * sum(p["bw_bytes"] for p in parts) / (1 << 20),
        "lat_mean_us": sum(p["lat_ns"]["mean"] * p["lat_ns"]["N"] for p in parts) / count / 1000,
        "fio_user": share * _cpu(doc, "usr_cpu"),
        "fio_system": share * _cpu(doc, "sys_cpu"),
    }
    if not 0 < out["iops"] < math.inf:
        raise RunFailed(f"fio measured {out['iops']} IOPS")
    out["fio_us_per_io"] = (out["fio_user"] + out["fio_system"]) / 100 * 1e6 / out["iops"]
    if at_once:
        out["at_once"] = at_once
    if jobs > 1:
        each = [sum(part["iops"] for part in _directions(job).values() if part["total_ios"]) for job in doc["jobs"]]
        out["job_spread"] = max(each) / min(each)
    out.update(percentiles)
    return out


def took_turns(at_once, jobs):
    """True where AT_ONCE of JOBS cannot be mere differences in when they start and end."""
    return at_once < 0.75 * jobs
