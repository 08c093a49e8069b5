# SPDX-License-Identifier: GPL-2.0-only
"""Two arms' runs of the same round: close in time, so that a drift of the host is in both."""

from ..host import rtt


def pairs(result, a, b, key):
    """([figure of A], [figure of B]) of metric KEY, a pair a round, warm-ups left out.

    Where the CPUs are pinned, a round counts only if they were equally far apart in both runs, and stayed so.
    """
    other = {r["repeat"]: r for r in result["runs"] if r["arm"] == b["name"]}
    found = []
    for run in sorted((r for r in result["runs"] if r["arm"] == a["name"]), key=lambda r: r["repeat"]):
        twin = other.get(run["repeat"])
        values = (run["metrics"].get(key), twin["metrics"].get(key)) if twin else (None,)
        if None not in values and not (result["cpus"]["pinned"] and _apart(run["rtt"], twin["rtt"])):
            found.append(values)
    return [x for x, _ in found], [y for _, y in found]


def _apart(one, two):
    """True where the distance changed during a run, or from one to the other."""
    known = [v for run in (one, two) for v in (run["before"], run["after"]) if v is not None]
    return bool(known) and (bool(rtt.marks(one["before"], one["after"], None) + rtt.marks(two["before"], two["after"], None))
                            or max(sum(known[:2]), sum(known[2:])) > rtt.CHANGED * min(sum(known[:2]), sum(known[2:])))
