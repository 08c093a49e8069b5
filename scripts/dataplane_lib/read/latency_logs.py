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

from .. import files
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


def load(directory, doc):
    """The log of the run in DIRECTORY as a result keeps it: {"kind", "step_ms", "means", "jobs"}; None where there is none. DOC is fio's json+.

    "jobs" are [{"name", "windows"}], a window being two lists, ns and I/Os; those of all jobs begin at the same time.
    """
    names = [j["jobname"] for j in doc["jobs"]]
    for kind, reader in (("clat_hist", _histograms), ("lat", _latencies)):
        found = [(_name(path, names), reader(path)) for path in sorted(directory.glob(f"*_{kind}.*.log"))]
        found = [(name, rows) for name, rows in found if rows]
        # With clat_percentiles=0 fio writes histograms with nothing in them.
        if found and any(counted for _, rows in found for _, counted in rows):
            return _hist(found) if kind == "clat_hist" else _lat(found, _ios(doc))
    return None


def log(kept, job=None):
    """The Log of what load() gave, of the job called JOB or of all; None where there is none."""
    windows = {}
    for each in kept["jobs"] if kept else ():
        if job in (None, each["name"]):
            for n, (ns, counts) in enumerate(each["windows"]):
                windows.setdefault(n, Counter()).update(dict(zip(ns, counts)))
    return Log(kept["kind"], kept["step_ms"], _filled(windows), kept["means"]) if windows else None


def _name(path, names):
    """The job that a log is of: the N in its name counts the jobs of the job file."""
    number = int(path.suffixes[-2][1:])
    return names[number - 1] if number <= len(names) else None


def _ios(doc):
    return sum(j[d]["total_ios"] for j in doc["jobs"] for d in ("read", "write") if d in j)


def value(index):
    """ns in the middle of fio's bin INDEX (stat.c, plat_idx_to_val())."""
    if index < 2 << _BITS:
        return index
    error = (index >> _BITS) - 1
    return (1 << (error + _BITS)) + int((index % (1 << _BITS) + 0.5) * (1 << error))


def index(ns):
    """fio's bin that NS falls into (stat.c, plat_val_to_idx())."""
    error = max(0, ns.bit_length() - 1 - _BITS)
    return min(_BINS - 1, ns if not error else ((error + 1) << _BITS) + (ns >> error) - (1 << _BITS))


def _lines(path, fewest):
    """Lines as lists of numbers, FEWEST or more in each."""
    for line in files.read_text(path).splitlines():
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


def _hist(jobs):
    step = _step(jobs)
    start = min(when for _, rows in jobs for when, _ in rows) - step
    return _kept("clat", step, False, jobs, lambda when: round((when - start) / step) - 1)


def _lat(jobs, ios):
    """A line an I/O is put into windows; fewer lines than that are means."""
    count = sum(len(rows) for _, rows in jobs)
    times = np.array(sorted({when for _, rows in jobs for when, _ in rows}))
    if len(times) < 2:
        return None
    means = count < 0.9 * ios
    # Of means there is one a window already, told at its end.
    step = _step(jobs) if means else max(1.0, float(times[-1] - times[0]) / _WINDOWS)
    start = times[0] - step / 2 if means else times[0]
    counted = [(name, [(when, {ns if means else value(index(ns)): 1}) for when, ns in rows]) for name, rows in jobs]
    return _kept("lat", step, means, counted, lambda when: int((when - start) / step))


def _kept(kind, step, means, jobs, window):
    """What load() returns; WINDOW(ms) is the number of the window that a line belongs to."""
    out = []
    for name, rows in jobs:
        windows = {}
        for when, counts in rows:
            windows.setdefault(window(when), Counter()).update(counts)
        lists = [sorted(counter.items()) for counter in _filled(windows)]
        out.append({"name": name, "windows": [[[ns for ns, _ in each], [n for _, n in each]] for each in lists]})
    return {"kind": kind, "step_ms": step, "means": means, "jobs": out}


def _step(jobs):
    """ms from one line to the next; reads and writes of one moment are lines of their own."""
    steps = [b - a for _, rows in jobs for a, b in pairwise(sorted({when for when, _ in rows})) if b - a > 1]
    return float(np.median(steps)) if steps else 1.0


def _filled(windows):
    return [windows.get(n, Counter()) for n in range(max(max(windows), 0) + 1)]
