# SPDX-License-Identifier: GPL-2.0-only
"""From the raw files of a result to result.json: refused if anything failed."""

import json
import statistics
from collections import Counter

from . import cpu, fiojson, metrics, rtt
from .errors import Refused, RunFailed

FORMAT = 1
# More of a pinned CPU than this (%) used by others spoils a run. Clock ticks and
# interrupts, which are nobody's, stay below.
_FOREIGN = 15
_SERVED = ("read", "write", "flush", "discard", "write_zeroes")


def read_json(path):
    """A JSON file of ours, refused when it is missing or broken."""
    try:
        return json.loads(path.read_text())
    except OSError as err:
        raise Refused(f"{path}: {err.strerror}") from None
    except ValueError as err:
        raise Refused(f"{path}: {err}") from None


def digest(result):
    """Everything that a report prints, from the result directory RESULT."""
    meta = read_json(result / "meta.json")
    if meta["status"] != "complete":
        reason = meta.get("reason", "the study did not finish")
        raise Refused(f"{result}: refused: {meta['status']}: {reason}")
    runs, histograms = [], {}
    for directory in sorted((result / "raw").iterdir()):
        record = read_json(directory / "run.json")
        try:
            if record["status"] != "complete":
                raise RunFailed(record.get("reason", record["status"]))
            doc = fiojson.load(directory / "fio.json")
            figures, threads, foreign = run_figures(directory, record, doc, meta["cpus"])
        except RunFailed as err:
            raise Refused(f"{result}: refused: {directory.name}: {err}") from None
        if record["warmup"]:
            continue
        histograms.setdefault(record["arm"], Counter()).update(fiojson.bins(doc))
        runs.append({"directory": directory.name, "arm": record["arm"],
                     "repeat": record["repeat"], "rtt": record["rtt"],
                     "metrics": figures, "threads": threads, "foreign": foreign})
    expected = len(meta["arms"]) * meta["study"]["repeats"]
    if len(runs) != expected:
        raise Refused(f"{result}: refused: {len(runs)} runs are there, the study has {expected}")
    usual = rtt.usual(runs)
    for run in runs:
        run["marks"] = rtt.marks(run["rtt"]["before"], run["rtt"]["after"], usual)
        if run["foreign"] > _FOREIGN:
            run["marks"].append(f"others used {run['foreign']:.0f} % of a pinned CPU")
    arms = [_arm(arm, [r for r in runs if r["arm"] == arm["name"]],
                 histograms[arm["name"]]) for arm in meta["arms"]]
    _changes(arms)
    return {"format": FORMAT, **meta, "rtt_ns": usual, "arms": arms, "runs": runs,
            "warnings": _warnings(meta, arms, runs)}


def run_figures(directory, record, doc, cpus):
    """(metrics, CPU by thread, % of a pinned CPU that others used) of one run."""
    figures = dict.fromkeys(metrics.BY_KEY)
    figures.update(fiojson.figures(doc))
    threads = None
    if "target" not in record:
        return figures, threads, 0.0
    offset = record["clock_offset_s"]
    runtime = fiojson.runtime_ms(doc) / 1000
    start, end = cpu.steady(doc["timestamp_ms"] / 1000 - offset, runtime)
    samples = read_json(directory / "cpu.json")
    threads = cpu.window(samples, start, end)
    if threads is None:
        raise RunFailed("the target's CPU was not sampled during the run")
    user = sum(t["user"] for t in threads.values())
    system = sum(t["system"] for t in threads.values())
    figures.update(target_user=user, target_system=system, target_cpu=user + system,
                   target_us_per_io=(user + system) / 100 * 1e6 / figures["iops"])
    stats = directory / "target-stats.json"
    if stats.exists():
        figures.update(served(read_json(stats), figures["iops"], fiojson.total_ios(doc)))
    elif "--stats" in record["target"]:
        raise RunFailed("the target wrote no stats")
    busy = cpu.busy(samples, start, end)
    ours = {cpus["fio"]: figures["fio_user"] + figures["fio_system"], cpus["target"]: user + system}
    return figures, threads, max([0.0] + [busy[c] - ours[c] for c in busy])


def served(stats, iops, counted):
    """What the target counted, per I/O and per second.

    The target counts from its start, ramp and set-up included, so rates are
    its counts per request times fio's IOPS. COUNTED is fio's number of I/Os:
    the target cannot have served fewer.
    """
    threads = stats["iothreads"]
    requests = sum(t["requests"].get(k, 0) for t in threads for k in _SERVED)
    errors = sum(t["errors"] for t in threads)
    if errors:
        raise RunFailed(f"the target answered {errors} requests with an error")
    if requests < counted:
        raise RunFailed(f"fio counted {counted} I/Os, the target served {requests}")
    per = lambda total: total / requests  # noqa: E731
    return {
        "kicks_per_s": per(sum(t["notifications"]["received"] for t in threads)) * iops,
        "calls_per_s": per(sum(t["notifications"]["sent"] for t in threads)) * iops,
        "sleeps_per_io": per(sum(t["sleeps"] for t in threads)),
        "switches_per_io": per(sum(t["switches"]["voluntary"] for t in threads)),
    }


def _arm(arm, runs, histogram):
    """Median, min and max over repeats; percentiles from the merged bins."""
    merged = fiojson.percentiles_us(histogram)
    summary = {}
    for key in metrics.BY_KEY:
        values = [r["metrics"][key] for r in runs if r["metrics"][key] is not None]
        if values:
            summary[key] = {"value": merged.get(key, statistics.median(values)),
                            "min": min(values), "max": max(values)}
    return {**arm, "runs": len(runs), "metrics": summary,
            "marked": sum(bool(r["marks"]) for r in runs)}


def _changes(arms):
    """Change of every metric against the arm's baseline, in %."""
    by_name = {a["name"]: a for a in arms}
    for arm in arms:
        base = by_name[arm["against"]]["metrics"]
        arm["change"] = {
            key: 100 * (entry["value"] / base[key]["value"] - 1)
            for key, entry in arm["metrics"].items()
            if key in base and base[key]["value"]}


def _warnings(meta, arms, runs):
    """Sentences about what may have spoilt the figures."""
    out = []
    if meta["cpus"]["note"]:
        out.append(meta["cpus"]["note"] + ".")
    foreign = [r for r in runs if r["foreign"] > _FOREIGN]
    if foreign:
        out.append(f"In {len(foreign)} of {len(runs)} runs something else used the pinned CPUs, up to "
                   f"{max(r['foreign'] for r in foreign):.0f} % of one (marked !): repeat on an idle machine.")
    moved = [r for r in runs if len(r["marks"]) > (r in foreign)]
    if moved:
        out.append(f"In {len(moved)} of {len(runs)} runs the distance between the two CPUs changed, or was far "
                   "from the usual one (marked !): compare those arms with care.")
    middles = [rtt.usual([r for r in runs if r["arm"] == a["name"]]) for a in arms]
    middles = [m for m in middles if m]
    if middles and max(middles) > rtt.CHANGED * min(middles):
        out.append(f"The arms' median round trips differ: {min(middles):.0f} to {max(middles):.0f} ns.")
    if meta["study"]["repeats"] < 3:
        n = meta["study"]["repeats"]
        out.append(f"Only {n} {'run' if n == 1 else 'runs'} an arm: the spread is a rough guide, small differences mean nothing.")
    if meta["steal_percent"] > 1:
        out.append(f"The hypervisor took {meta['steal_percent']:.1f} % of the CPU time away during the study (steal).")
    return out
