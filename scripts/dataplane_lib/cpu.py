# SPDX-License-Identifier: GPL-2.0-only
"""CPU time of a process's threads, sampled from /proc while it works.

schedstat gives a thread's time in ns; stat splits it into user and system,
but in clock ticks. So the sum is taken from the one, the split from the other.
"""

import os
import time

from . import host

_TICK = os.sysconf("SC_CLK_TCK")


class Sampler:
    """Samples every thread of a process, and the whole of the CPUs given.

    One sample is {"t": monotonic s, "threads": {tid: [name, ns, user s, system s]},
    "cpus": {number: jiffies by kind}}.
    """

    def __init__(self, pid, cpus=()):
        self.dir = f"/proc/{pid}/task"
        self.cpus = cpus
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
        sample = {"t": now, "threads": threads}
        if self.cpus:
            ticks = host.ticks()
            sample["cpus"] = {str(c): ticks[f"cpu{c}"] for c in self.cpus}
        self.samples.append(sample)


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
    ends = _ends(samples, start, end)
    if not ends:
        return None
    first, last = ends
    span = last["t"] - first["t"]
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


def busy(samples, start, end):
    """{CPU: % busy between START and END, whoever it was}, empty if not sampled."""
    ends = _ends(samples, start, end)
    if not ends:
        return {}
    first, last = ends
    return {int(c): host.shares(first["cpus"][c], last["cpus"][c])[0]
            for c in last.get("cpus", {})}


def _ends(samples, start, end):
    """The first and last sample inside, None if they cover less than half of it."""
    inside = [s for s in samples if start <= s["t"] <= end]
    if len(inside) < 2 or inside[-1]["t"] - inside[0]["t"] < (end - start) / 2:
        return None
    return inside[0], inside[-1]


def steady(end, runtime, margin=None):
    """(start, end) of the part of a run that is surely neither start nor end.

    END is when fio reported (monotonic s), RUNTIME how long it measured (s).
    """
    margin = max(0.1, 0.1 * runtime) if margin is None else margin
    return end - runtime + margin, end - margin
