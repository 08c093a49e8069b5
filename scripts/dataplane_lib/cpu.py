# SPDX-License-Identifier: GPL-2.0-only
"""CPU time of a process's threads, sampled from /proc while it works.

schedstat gives a thread's time in ns; stat splits it into user and system,
but in clock ticks. So the sum is taken from the one, the split from the other.
"""

import os
import time

_TICK = os.sysconf("SC_CLK_TCK")


class Sampler:
    """Samples every thread of a process; one sample is {tid: [name, ns, user, system]}."""

    def __init__(self, pid):
        self.dir = f"/proc/{pid}/task"
        self.samples = []

    def sample(self):
        """Take one sample now; a thread that ends meanwhile is left out."""
        threads = {}
        now = time.monotonic()
        try:
            tids = os.listdir(self.dir)
        except OSError:
            return
        for tid in tids:
            try:
                threads[tid] = _thread(f"{self.dir}/{tid}")
            except OSError:
                continue
        self.samples.append({"t": now, "threads": threads})


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _thread(directory):
    stat = _read(directory + "/stat").decode(errors="replace")
    name = stat[stat.index("(") + 1:stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2:].split()
    user, system = int(fields[11]) / _TICK, int(fields[12]) / _TICK
    try:
        total = int(_read(directory + "/schedstat").split()[0])
    except (OSError, ValueError, IndexError):
        total = round((user + system) * 1e9)
    return [name, total, user, system]


def window(samples, start, end):
    """CPU use between START and END (monotonic s) in % of one CPU, by thread.

    Returns {thread name: {"user": %, "system": %}} or None when the samples
    do not cover at least half of the window.
    """
    inside = [s for s in samples if start <= s["t"] <= end]
    if len(inside) < 2:
        return None
    first, last = inside[0], inside[-1]
    span = last["t"] - first["t"]
    if span < (end - start) / 2:
        return None
    out = {}
    for tid, (name, ns, user, system) in last["threads"].items():
        _, ns0, user0, system0 = first["threads"].get(tid, (name, 0, 0.0, 0.0))
        used = (ns - ns0) / 1e9 / span * 100
        ticks = (user - user0) + (system - system0)
        share = (user - user0) / ticks if ticks else 0.0
        entry = out.setdefault(name, {"user": 0.0, "system": 0.0})
        entry["user"] += used * share
        entry["system"] += used * (1 - share)
    return out


def steady(end, runtime, margin=None):
    """(start, end) of the part of a run that is surely neither start nor end.

    END is when fio reported (monotonic s), RUNTIME how long it measured (s).
    """
    margin = max(0.1, 0.1 * runtime) if margin is None else margin
    return end - runtime + margin, end - margin
