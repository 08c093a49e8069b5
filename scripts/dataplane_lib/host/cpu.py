# SPDX-License-Identifier: GPL-2.0-only
"""CPU time and context switches of a process and its children, sampled from /proc while they work.

schedstat gives a thread's time in ns; stat splits it into user and system,
but in clock ticks. So the sum is taken from the one, the split from the other.
"""

import os
import time

from . import system

_TICK = os.sysconf("SC_CLK_TCK")
# Who is whose child is asked this often (s): that reads all of /proc.
_KIN_S = 0.5


class Sampler:
    """Samples every thread of a process and of its descendants, and the whole of the CPUs given.

    One sample is {"t": monotonic s, "threads": {tid: [name, ns, user s, system s, voluntary,
    involuntary switches]}, "cpus": {number: jiffies by kind}}.
    """

    def __init__(self, pid, cpus=()):
        self.pid = pid
        self.cpus = cpus
        self.samples = []
        self._kin = [pid]
        self._asked = 0.0

    def sample(self):
        """Take one sample now; a thread that ends meanwhile is left out."""
        threads = {}
        now = time.monotonic()
        if now - self._asked >= _KIN_S:
            self._kin, self._asked = family(self.pid), now
        for pid in self._kin:
            _threads(f"/proc/{pid}/task", threads)
        if not threads:
            return
        sample = {"t": now, "threads": threads}
        if self.cpus:
            ticks = system.ticks()
            sample["cpus"] = {str(c): ticks[f"cpu{c}"] for c in self.cpus}
        self.samples.append(sample)


def family(pid):
    """PID and all that descends from it."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                _, fields = _stat(f"/proc/{entry}")
                parents[int(entry)] = int(fields[1])
            except OSError:
                continue
    out = [pid]
    for parent in out:
        out += [child for child, of in parents.items() if of == parent]
    return out


def _threads(directory, out):
    """Put what each thread under DIRECTORY has used into OUT."""
    try:
        tids = os.listdir(directory)
    except OSError:
        return
    for tid in tids:
        try:
            out[tid] = _thread(f"{directory}/{tid}")
        except OSError:
            continue


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _stat(directory):
    """(name, the fields after it) of DIRECTORY/stat."""
    stat = _read(directory + "/stat").decode(errors="replace")
    return stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()


def _thread(directory):
    name, fields = _stat(directory)
    user, system = int(fields[11]) / _TICK, int(fields[12]) / _TICK
    try:
        total = int(_read(directory + "/schedstat").split()[0])
    except (OSError, ValueError, IndexError):
        total = round((user + system) * 1e9)
    # The last two lines of status: voluntary_ctxt_switches, nonvoluntary_ctxt_switches.
    switches = [int(line.split()[1]) for line in _read(directory + "/status").splitlines() if b"ctxt_switches:" in line]
    return [name, total, user, system, *switches]


def window(samples, start, end):
    """CPU use between START and END (monotonic s) in % of one CPU, by thread.

    Returns {thread name: {"user": %, "system": %, "voluntary": 1/s, "involuntary": 1/s}}, the
    switches only where they were sampled, or None when the samples do not cover at least half of the window.
    """
    inside = _inside(samples, start, end)
    if not inside:
        return None
    span = inside[-1]["t"] - inside[0]["t"]
    last = {}
    for sample in inside:
        last.update(sample["threads"])
    out = {}
    for tid, now in last.items():
        before = inside[0]["threads"].get(tid, [now[0], *[0] * (len(now) - 1)])
        delta = [b - a for a, b in zip(before[1:], now[1:])]
        used = delta[0] / 1e9 / span * 100
        ticks = delta[1] + delta[2]
        share = delta[1] / ticks if ticks else 0.0
        found = {"user": used * share, "system": used * (1 - share)}
        found.update(zip(("voluntary", "involuntary"), (d / span for d in delta[3:])))
        entry = out.setdefault(now[0], dict.fromkeys(found, 0.0))
        for key, value in found.items():
            entry[key] += value
    return out


def busy(samples, start, end):
    """{CPU: % busy between START and END, whoever it was}, empty if not sampled."""
    inside = _inside(samples, start, end)
    if not inside:
        return {}
    first, last = inside[0], inside[-1]
    return {int(c): system.shares(first["cpus"][c], last["cpus"][c])[0]
            for c in last.get("cpus", {})}


def _inside(samples, start, end):
    """The samples inside, and one before where they are few; None if they cover less than half of the time."""
    inside = [s for s in samples if start <= s["t"] <= end]
    before = [s for s in samples if end - 1.5 * (end - start) <= s["t"] < start]
    if before and (not inside or inside[0]["t"] - start > (end - start) / 4):
        inside.insert(0, before[-1])
    if len(inside) < 2 or inside[-1]["t"] - inside[0]["t"] < (end - start) / 2:
        return None
    return inside


def steady(end, runtime, margin=None):
    """(start, end) of the part of a run that is surely neither start nor end.

    END is when fio reported (monotonic s), RUNTIME how long it measured (s).
    """
    margin = max(0.1, 0.1 * runtime) if margin is None else margin
    return end - runtime + margin, end - margin
