# SPDX-License-Identifier: GPL-2.0-only
"""Predictions of IOPS for more queues, iothreads and CPUs than a host has, from what its requests cost; beside what it measured."""

import statistics
from dataclasses import dataclass, replace

from ..errors import NotMeasured
from ..stats import scale


@dataclass
class Row:
    """A shape, what the simulation says of it, and what was measured: IOPS, None where nothing was."""
    shape: scale.Shape
    outcome: scale.Outcome
    measured: float | None = None
    arm: str = ""

    @property
    def error(self):
        """The prediction's difference from the measurement in %, None where there is none."""
        return None if self.measured is None else 100 * (self.outcome.iops / self.measured - 1)


def shapes(queues, iothreads, cpus, inflight):
    """Every combination with no more iothreads than queues; INFLIGHT requests are shared by the queues."""
    return [scale.Shape(q, i, max(1, inflight // q), c) for c in cpus for q in queues for i in iothreads if i <= q]


def predicted(shapes_, costs):
    """A Row for each shape."""
    return [Row(shape, scale.predict(shape, costs)) for shape in shapes_]


def measured(stored, costs):
    """(Costs, rows) of a result: a Row for each arm whose runs had one job a queue of our target."""
    arms = {}
    for arm in stored.header["arms"]:
        runs = [run for run in stored.of_arm(arm["name"]) if run.facts["target_stats"] and run.facts["engine_stats"]]
        if runs:
            arms[arm["name"]] = runs
    if not arms:
        raise NotMeasured(f"{stored.place}: no arm has statistics of both sides (vhost-user-blk-target, and an engine with dp_stats)")
    costs = costs_of(stored, arms, costs)
    rows = []
    for name, runs in arms.items():
        shape, extra = _shape(runs[0], stored.header["cpus"]["pinned"])
        there = replace(costs, device=costs.device + extra)
        rows.append(Row(shape, scale.predict(shape, there), statistics.geometric_mean(r.metrics["iops"] for r in runs), name))
    return costs, rows


def costs_of(stored, arms, costs):
    """COSTS with the driver's, the device's and the distance of the result's own arms: those of the fewest queues, without a limit at the device."""
    plain = [runs for runs in arms.values() if not any(_limits(runs[0])) and not _merged(runs[0])]
    if not plain:
        raise NotMeasured(f"{stored.place}: every arm has a limit or a cost at the device, or merges; one without is needed to know what a request costs")
    fewest = min(len(runs[0].facts["engine_stats"]) for runs in plain)
    runs = [run for group in plain if len(group[0].facts["engine_stats"]) == fewest for run in group]
    distance = [run.facts["rtt"][end] for run in stored.counted() for end in ("before", "after") if run.facts["rtt"][end]]
    return replace(costs, driver=statistics.median(_work(run, "fio_us_per_io", run.facts["engine_stats"]) for run in runs),
                   device=statistics.median(_work(run, "target_us_per_io", run.facts["target_stats"]["iothreads"]) for run in runs),
                   rtt=statistics.median(distance) if distance else costs.rtt)


def _work(run, key, threads):
    """ns of CPU that a request took on one side without the time that THREADS polled."""
    served = sum(n for t in run.facts["target_stats"]["iothreads"] for n in t["requests"].values())
    polled = sum(t["poll_ns"] for t in threads) / max(1, served)
    return max(10.0, 1e3 * run.metrics[key] - polled)


def _limits(run):
    """(ceiling in IOPS, bandwidth, service time, CPU a request) that the run's target was given; zeros without."""
    given = run.facts["target_stats"]["options"]
    delay = given.get("delay", "none")
    return tuple(float(given.get(name) or 0) for name in ("device-iops", "device-bw")) + (0.0 if delay == "none" else 1.0, float(given.get("request-cost") or 0))


def _merged(run):
    return sum(engine["merged"] for engine in run.facts["engine_stats"])


def _shape(run, pinned):
    """(Shape of a run, CPU that a request costs besides in ns); where it was PINNED, the target has a CPU that fio has not."""
    facts, given = run.facts, run.facts["target_stats"]["options"]
    iops, bandwidth, delayed, cost = _limits(run)
    if delayed:
        raise NotMeasured(f"{run.arm}: --delay {given['delay']}: the simulation knows no service times of a distribution")
    engines = facts["engine_stats"]
    served = sum(n for t in facts["target_stats"]["iothreads"] for n in t["requests"].values())
    merge = 1 + _merged(run) / max(1, served)
    if bandwidth:
        per = 1024 * 1024 * run.metrics["bw_mib"] / run.metrics["iops"]
        iops = min(iops * merge or float("inf"), bandwidth / per) / merge
    depth = facts["environment"].get("iodepth")
    if not depth or not depth.isdecimal():
        raise NotMeasured(f"{run.arm}: its job has no ${{iodepth}}, so the requests in flight are not known")
    cpus = len(facts["environment"]["fio_cpus"].split(",")) + pinned
    polls = given.get("poll", "off") != "off" and given.get("poll-max-ns") != "0"
    return scale.Shape(len(engines), int(given["iothreads"]), int(depth), cpus, iops=iops, merge=merge,
                       driver_polls=engines[0]["wait_mode"] != "block", device_polls=polls), cost
