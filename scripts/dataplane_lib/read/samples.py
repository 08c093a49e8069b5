# SPDX-License-Identifier: GPL-2.0-only
"""IOPS second by second, from the logs that fio writes a job (write_iops_log, log_unix_epoch=1)."""

import statistics

from .. import files
from ..errors import RunFailed

# A job takes part in a second when its log covers this share of it.
_COVERED = 0.9


def load(directory, prefix, step):
    """[[(start, end, IOPS), …] of each job], in ms since the epoch; STEP is fio's log_avg_msec.

    An empty list where the job file writes no such log.
    """
    jobs = []
    paths = sorted(directory.glob(f"{prefix}_iops.*.log"), key=lambda p: int(p.suffixes[-2][1:]))
    for path in paths:
        seen = {}
        for line in files.read_text(path).splitlines():
            try:
                when, value = (int(word) for word in line.split(",")[:2])
            except ValueError:
                raise RunFailed(f"{path.name}: {line!r} is not a line of an IOPS log") from None
            # Reads and writes of one moment are lines of their own.
            seen[when] = seen.get(when, 0) + value
        if not seen:
            raise RunFailed(f"{path.name}: is empty: the job was too short for a sample of {step} ms")
        if min(seen) < 1e12:
            raise RunFailed(f"{path.name}: counts from fio's start: add log_unix_epoch=1 to the job file")
        times = sorted(seen)
        jobs.append([(before, when, seen[when]) for before, when in zip([times[0] - step, *times], times)])
    return jobs


def at_once(jobs):
    """How many of JOBS ran at a time: all, or if they waited for each other the mean over the time in which any ran.

    fio often loses a job's last sample, so jobs that ran together need not seem to end together.
    """
    start, end = _common(jobs)
    if end - start >= min(job[-1][1] - job[0][0] for job in jobs) / 3:
        return float(len(jobs))
    covered, reached = 0, 0
    for job in sorted(jobs):
        covered += max(0, job[-1][1] - max(job[0][0], reached))
        reached = max(reached, job[-1][1])
    return sum(job[-1][1] - job[0][0] for job in jobs) / covered


def _common(jobs):
    return max(job[0][0] for job in jobs), min(job[-1][1] for job in jobs)


def together(jobs):
    """(start, end) in ms of the time that all JOBS measured, of the last one's where they ran one after another."""
    if at_once(jobs) == len(jobs):
        return _common(jobs)
    return max((job[0][0], job[-1][1]) for job in jobs)


def summed(jobs, step):
    """[(end in ms, IOPS of all jobs)] of every STEP in which as many jobs ran as usual.

    Where jobs run one after another that is one of them; steps at their start and end do not count.
    """
    usual = max(1, round(at_once(jobs)))
    start, last = _common(jobs)
    if usual < len(jobs):
        start, last = min(job[0][0] for job in jobs), max(job[-1][1] for job in jobs)
    out = []
    while start + _COVERED * step <= last:
        found = [_mean(job, start, start + step) for job in jobs]
        running = [value for value in found if value is not None]
        if len(running) == usual:
            out.append((start + step, sum(running)))
        start += step
    return out


def _mean(job, start, end):
    """Mean IOPS of JOB between two times, None where its log covers too little of it."""
    total = weight = 0
    for low, high, value in job:
        overlap = min(high, end) - max(low, start)
        if overlap > 0:
            total += overlap * value
            weight += overlap
    return total / weight if weight >= _COVERED * (end - start) else None


def figures(values):
    """Metrics of the samples VALUES, empty without any."""
    if not values:
        return {}
    return {"sample_min": min(values), "sample_max": max(values), "sample_mean": statistics.fmean(values),
            "sample_sd": statistics.stdev(values) if len(values) > 1 else 0.0}
