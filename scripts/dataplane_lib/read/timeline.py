# SPDX-License-Identifier: GPL-2.0-only
"""When each job of a run measured, and what all did in the time that any of them did."""

from . import fiojson

# Jobs that measured for less of the longest one's time, or together less of the time, did not work side by side all along.
_TOGETHER = 0.9


def of_run(doc, seen, logs):
    """[(start, end) of each job of DOC] in Unix s, None where it is not known.

    SEEN is when each of fio's processes was there: a job measures up to its end. LOGS are the IOPS logs, for who could not see them.
    """
    lengths = [fiojson.measured_ms(job) / 1000 for job in doc["jobs"]]
    if any("job_start" not in job for job in doc["jobs"]):
        starts = None
    else:
        starts = [job["job_start"] / 1000 for job in doc["jobs"]]
    if seen and len(seen) == len(lengths):
        # Which process is which job fio does not tell, but the longest was the longest.
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        out = [None] * len(lengths)
        for i, (_, end) in zip(order, sorted(seen, key=lambda each: each[1] - each[0])):
            out[i] = (end - lengths[i], end)
        return out
    if starts:
        return [(start, start + length) for start, length in zip(starts, lengths)]
    if logs and len(logs) == len(lengths):
        return [(log[0][0] / 1000, log[0][0] / 1000 + length) for log, length in zip(logs, lengths)]
    return None


def covered(spans):
    """Seconds in which any of SPANS is."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def at_once(spans):
    """How many of SPANS there are at a time, on average while there is any; None without."""
    return sum(end - start for start, end in spans) / covered(spans) if spans else None


def apart(spans):
    """True where jobs worked one after another, or some for less of the time than others."""
    if not spans or len(spans) < 2:
        return False
    lengths = [end - start for start, end in spans]
    return min(lengths) < _TOGETHER * max(lengths) or at_once(spans) < _TOGETHER * len(spans)


def rate(doc, spans, start, end):
    """I/Os per second that all jobs of DOC did from START to END."""
    done = 0.0
    for job, (begin, stop) in zip(doc["jobs"], spans):
        done += fiojson.iops_of(job) * max(0.0, min(end, stop) - max(start, begin))
    return done / (end - start)
