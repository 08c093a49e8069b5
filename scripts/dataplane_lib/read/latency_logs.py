# SPDX-License-Identifier: GPL-2.0-only
"""Latency over time, from the logs that fio wrote in a run: write_hist_log, or write_lat_log.

fio's histogram logs (iolog.c, flush_hist_samples()) hold a line a window: ms, direction, block
size, and the I/Os in each of its bins since the line before. They are of completion latency,
its only kind. A lat log has a line an I/O, or with log_avg_msec one a window.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import RunFailed

# stat.h: FIO_IO_U_PLAT_BITS and FIO_IO_U_PLAT_NR.
_BITS = 6
_BINS = 29 << _BITS
# I/Os of a run are told in so many windows.
_WINDOWS = 40


@dataclass
class Log:
    """KIND is 'clat' or 'lat'; WINDOWS[n] is {ns: I/Os} of the n-th STEP ms; MEANS says that there are only means in it."""
    kind: str
    step: float
    windows: list
    means: bool = False


def load(directory, doc, job=None):
    """The Log of the run in DIRECTORY, of the job called JOB or of all; None where it kept none. DOC is its json+."""
    names = [j["jobname"] for j in doc["jobs"]]
    for kind, reader in (("clat_hist", _histograms), ("lat", _latencies)):
        paths = [p for p in sorted(directory.glob(f"*_{kind}.*.log")) if job is None or _name(p, names) == job]
        rows = [reader(path) for path in paths]
        rows = [r for r in rows if r]
        # With clat_percentiles=0 fio writes histograms with nothing in them.
        if rows and any(counted for each in rows for _, counted in each):
            return _hist(rows) if kind == "clat_hist" else _lat(rows, _ios(doc, job))
    return None


def _name(path, names):
    """The job that a log is of: the N in its name counts the jobs of the job file."""
    number = int(path.suffixes[-2][1:])
    return names[number - 1] if number <= len(names) else None


def _ios(doc, job):
    return sum(j[d]["total_ios"] for j in doc["jobs"] if job in (None, j["jobname"])
               for d in ("read", "write") if d in j)


def value(index):
    """ns in the middle of fio's bin INDEX (stat.c, plat_idx_to_val())."""
    if index < 2 << _BITS:
        return index
    error = (index >> _BITS) - 1
    return (1 << (error + _BITS)) + int((index % (1 << _BITS) + 0.5) * (1 << error))


def _lines(path, fewest):
    """Lines as lists of numbers, FEWEST or more in each."""
    for line in path.read_text().splitlines():
        try:
            found = [int(word, 0) for word in line.split(",")]
        except ValueError:
            found = []
        if len(found) < fewest:
            raise RunFailed(f"{path}: {line[:60]!r} is not a line of a latency log")
        yield found


def _histograms(path):
    """[(ms, {ns: I/Os})]."""
    out = []
    for when, _, _, *counts in _lines(path, 4):
        stride = _BINS // len(counts)
        out.append((when, {value(i * stride + stride // 2): c for i, c in enumerate(counts) if c}))
    return out


def _latencies(path):
    """[(ms, ns)]."""
    return [(line[0], line[1]) for line in _lines(path, 4)]


def _hist(files):
    step = _step(files)
    start = min(when for rows in files for when, _ in rows) - step
    windows = {}
    for rows in files:
        for when, counts in rows:
            windows.setdefault(round((when - start) / step) - 1, Counter()).update(counts)
    return Log("clat", step, _filled(windows))


def _lat(files, ios):
    """A line an I/O is put into windows; fewer lines than that are means."""
    count = sum(map(len, files))
    times = np.array(sorted({when for rows in files for when, _ in rows}))
    if len(times) < 2:
        return None
    means = count < 0.9 * ios
    # Of means there is one a window already, told at its end.
    step = _step(files) if means else max(1.0, (times[-1] - times[0]) / _WINDOWS)
    start = times[0] - step / 2 if means else times[0]
    windows = {}
    for rows in files:
        for when, latency in rows:
            windows.setdefault(int((when - start) / step), Counter())[latency] += 1
    return Log("lat", step, _filled(windows), means)


def _step(files):
    """ms from one line to the next; reads and writes of one moment are lines of their own."""
    steps = [b - a for rows in files for a, b in pairwise(sorted({when for when, _ in rows})) if b - a > 1]
    return float(np.median(steps)) if steps else 1.0


def _filled(windows):
    return [windows.get(n, Counter()) for n in range(max(max(windows), 0) + 1)]
