# SPDX-License-Identifier: GPL-2.0-only
"""The samples of host/cpu.py as a result keeps them: a column a counter, each value as the step from the one before.

Threads are summed by kind, which is their name without the numbers at its end: who asks for more finds it in the target's own statistics.
"""

import re
from itertools import accumulate

# What a thread's sample holds behind its name, and by how much it is multiplied to be whole: ns, s, s, and switches.
_COLUMNS = (("ns", 1), ("user_ms", 1000), ("system_ms", 1000), ("voluntary", 1), ("involuntary", 1))


def packed(samples):
    """SAMPLES of host.cpu.Sampler as {"t_us", "threads": {kind: {"from", columns}}, "cpus": {number: [ticks by kind]}}."""
    if not samples:
        return None
    kinds, threads = {}, {}
    for n, sample in enumerate(samples):
        for tid, (name, *used) in sample["threads"].items():
            kinds.setdefault(re.sub(r"[\d.]+$", "", name) or name, {})[tid] = used
        for kind, known in kinds.items():
            # A thread that has ended has used what it had used.
            threads.setdefault(kind, {"from": n, "rows": []})["rows"].append([sum(column) for column in zip(*known.values())])
    columns = {kind: {"from": entry["from"], **{name: _steps([round(row[i] * factor) for row in entry["rows"]])
                                               for i, (name, factor) in enumerate(_COLUMNS) if i < len(entry["rows"][0])}}
               for kind, entry in threads.items()}
    cpus = {c: [_steps(column) for column in zip(*(s["cpus"][c] for s in samples))] for c in samples[0].get("cpus", {})}
    return {"t_us": _steps([round(s["t"] * 1e6) for s in samples]), "threads": columns, "cpus": cpus}


def unpacked(series):
    """SERIES as samples again, in which each kind of thread is one thread of that name."""
    if not series:
        return []
    samples = [{"t": t / 1e6, "threads": {}, "cpus": {}} for t in accumulate(series["t_us"])]
    for kind, entry in series["threads"].items():
        columns = [[v / factor for v in accumulate(entry[name])] for name, factor in _COLUMNS if name in entry]
        for sample, row in zip(samples[entry["from"]:], zip(*columns)):
            sample["threads"][kind] = [kind, *row]
    for cpu, columns in series["cpus"].items():
        for sample, row in zip(samples, zip(*map(accumulate, columns))):
            sample["cpus"][cpu] = list(row)
    return [s if s["cpus"] else {k: v for k, v in s.items() if k != "cpus"} for s in samples]


def _steps(values):
    return [b - a for a, b in zip([0, *values], values)]
