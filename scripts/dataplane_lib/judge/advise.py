# SPDX-License-Identifier: GPL-2.0-only
"""Which poll policy and window would suit a run, from the waits that its target recorded.

The policies' own code is run over these waits (run/replay.py says what comes of it); here that becomes IOPS and CPU: an I/O takes
longer by each wake-up it needs more, and costs the CPU that is polled more. Nothing else is taken to change, so at depths where
requests pile up during a sleep the loss is overestimated.
"""

import statistics
from dataclasses import dataclass

from ..errors import NotMeasured
from ..model import server

# The CPU that a sleep and its wake-up take in the sleeper, as a share of the time until it runs; a nap that ends by its timer takes as much.
_WAKE_CPU = 0.5
# Advice is the least CPU with at least this share of the best IOPS.
_WITHIN = 0.98
WINDOWS = [1 << n for n in range(11, 20)]
WINDOWED = ("fixed", "adaptive", "per-source", "weighted", "hybrid")
OTHERS = ("off", "busy", "inflight")


@dataclass
class Waits:
    """What a run's iothreads waited: COUNTS {(in flight?, from ns, to ns): waits}, per I/O PER; its IOPS, CPU an I/O in ns, policy and window."""
    counts: dict
    per: float
    iops: float
    cpu: float
    policy: str
    max_ns: int

    def share(self, in_flight):
        """The share of waits with requests in flight, or without."""
        return sum(n for (kind, _, _), n in self.counts.items() if kind == in_flight) / sum(self.counts.values())

    def quantile(self, q, in_flight=None):
        """The wait in ns below which a share Q of those of a kind, or of all, are; None without any."""
        found = sorted((lo, hi, n) for (kind, lo, hi), n in self.counts.items() if in_flight in (None, kind))
        total, below = sum(n for *_, n in found), 0
        for lo, hi, n in found:
            if below + n >= q * total:
                return lo + (hi - lo) * (q * total - below) / n
            below += n
        return None


@dataclass
class Plan:
    """A policy with its window (0 where it has none): the share of waits that it covers, IOPS, CPU an I/O in ns and CPU in %; predicted."""
    policy: str
    max_ns: int
    covered: float
    iops: float
    cpu: float

    @property
    def share(self):
        return self.cpu * self.iops / 1e7


def bucket_end(lo):
    """Where the bucket of base/hist.h that begins at LO ends: 16 an octave, one a value below 32."""
    return lo + (1 << max(0, lo.bit_length() - 5))


def recorded(runs, wakeup):
    """The Waits of the RUNS of one arm; WAKEUP (ns) is what waits hold of a wake-up where the thread slept."""
    facts = [run.facts for run in runs]
    threads = [t for f in facts for t in (f["target_stats"] or {}).get("iothreads", ())]
    given = (facts[0]["target_stats"] or {}).get("options", {})
    if not any("waits_ns" in t for t in threads):
        raise NotMeasured(f"{runs[0].arm}: its target recorded no waits: it must be one of ours, of this version")
    policy, max_ns = given["poll"], int(given["poll-max-ns"])
    limit = {"off": 0, "inflight": 0}.get(policy, max_ns)
    counts = {}
    for thread in threads:
        for in_flight, name in enumerate(("idle", "in_flight")):
            for lo, n in thread["waits_ns"][name]:
                # What was polled ended when the work came, a sleep only later.
                late = wakeup if lo > limit + wakeup else 0
                key = (in_flight, int(lo - late), int(bucket_end(lo) - late))
                counts[key] = counts.get(key, 0) + n
    if not counts:
        raise NotMeasured(f"{runs[0].arm}: policy {policy} reads no clock, so it recorded no waits; use --poll fixed with a long --poll-max-ns, or off")
    served = sum(n for t in threads for n in t["requests"].values())
    return Waits(counts, sum(counts.values()) / served, statistics.geometric_mean(r.metrics["iops"] for r in runs),
                 1e3 * statistics.median(r.metrics["target_us_per_io"] for r in runs), policy, max_ns)


def plans(waits, replay, wakeup, candidates):
    """A Plan for each of CANDIDATES, [(policy, window)]; REPLAY(candidates) is a list of run.replay.Outcome."""
    here, *found = replay([(waits.policy, waits.max_ns), *candidates])
    out = []
    for (policy, max_ns), outcome in zip(candidates, found):
        later = waits.per * (outcome.sleeps - here.sleeps) * wakeup
        more = waits.per * (outcome.polled - here.polled + (outcome.sleeps + outcome.naps - here.sleeps - here.naps) * _WAKE_CPU * wakeup)
        time = max(1e9 / waits.iops + later, 1.0)
        out.append(Plan(policy, max_ns, outcome.covered, 1e9 / time, time if policy == "busy" else min(max(waits.cpu + more, 1.0), time)))
    return out


def measured(runs):
    """The Plan that the RUNS of an arm were: what was measured in the place of a prediction."""
    return Plan("", 0, 0.0, statistics.geometric_mean(r.metrics["iops"] for r in runs), 1e3 * statistics.median(r.metrics["target_us_per_io"] for r in runs))


def candidates():
    """All that is tried."""
    return [(name, 1) for name in OTHERS] + [(name, window) for name in WINDOWED for window in WINDOWS]


def best(plans_):
    """The Plan with the least CPU among those that are hardly slower than the fastest."""
    enough = _WITHIN * max(p.iops for p in plans_)
    return min((p for p in plans_ if p.iops >= enough), key=lambda p: (round(p.cpu), p.max_ns))


def best_of_each(plans_):
    """For every policy its best Plan."""
    return [best([p for p in plans_ if p.policy == name]) for name in dict.fromkeys(p.policy for p in plans_)]


def policy_of(arm_values, options):
    """(policy, window) of an arm: by what is varied, else by the target's OPTIONS."""
    given = {**server.options(options), **{k: v for k, v in arm_values.items() if k in ("poll", "poll-max-ns")}}
    return given.get("poll", "adaptive"), given.get("poll-max-ns", "32768")
