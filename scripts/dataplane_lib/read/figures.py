# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of one run, from what is known of it."""

import re
import statistics

from ..host import cpu
from ..model import metrics
from . import cpu_series, fiojson, samples, timeline
from ..errors import RunFailed

_SERVED = ("read", "write", "flush", "discard", "write_zeroes")


def of_run(facts, cpus):
    """(metrics, target's CPU by kind of thread, % of a CPU that others used, IOPS samples) of the run that FACTS are of; CPUS as in the header."""
    figures = dict.fromkeys(metrics.BY_KEY)
    step, doc = facts.get("sample_ms", 1000), facts["fio"]
    logs = facts["iops_log"]
    seconds = samples.summed(logs, step) if logs else []
    values = [value for _, value in seconds]
    spans = timeline.of_run(doc, facts.get("fio_jobs"), logs)
    apart = timeline.apart(spans)
    at_once = timeline.at_once(spans) if apart else samples.at_once(logs) if logs else None
    figures.update(fiojson.figures(doc, at_once, timeline.covered(spans) if apart else None))
    figures.update(samples.figures(values))
    if "target" not in facts:
        return figures, None, facts.get("neighbours", 0.0), values
    offset = facts["clock_offset_s"]
    runtime = fiojson.runtime_ms(doc) / 1000
    # fio's client does not tell when it was over, see client.ended().
    last = facts["ended_s"] if "ended_s" in facts else doc["timestamp_ms"] / 1000 - offset
    if logs:
        first, last = (when / 1000 - offset for when in samples.together(logs))
        runtime = last - first
    start, end = cpu.steady(last, runtime)
    if apart:
        start, end = min(each[0] for each in spans) - offset, max(each[1] for each in spans) - offset
    taken = cpu_series.unpacked(facts["cpu"])
    threads = cpu.window(taken, start, end)
    # What the CPU was used for: the I/Os of the same time, where that is known.
    meanwhile = [v for when, v in seconds if start <= when / 1000 - offset <= end]
    rate = statistics.fmean(meanwhile) if meanwhile else figures["iops"]
    if apart:
        rate = timeline.rate(doc, spans, start + offset, end + offset)
    if threads is not None:
        figures.update(of_threads(threads, rate))
    if "guest" in facts:
        whole = cpu.window(cpu_series.unpacked(facts["qemu_cpu"]), start, end)
        if whole is not None:
            figures["qemu_cpu"] = sum(t["user"] + t["system"] for t in whole.values())
    if facts["target_stats"]:
        merged = sum(engine.get("merged", 0) for engine in facts["engine_stats"])
        figures.update(served(facts["target_stats"], fiojson.total_ios(doc), merged))
    elif "--stats" in facts["target"]:
        raise RunFailed("the target wrote no stats")
    if threads is not None and figures["bw_mib"]:
        fio = 1e4 * _fio_side(facts, figures)
        figures["cpu_us_per_mib"] = (figures["target_us_per_io"] * figures["iops"] + fio) / figures["bw_mib"]
    busy = cpu.busy(taken, start, end)
    if "ended_s" in facts:
        # The CPUs of fio's servers are unknown, so other load shows on the target's CPU only.
        busy = {c: v for c, v in busy.items() if cpus["pinned"] and c == cpus["target"]}
    foreign = 0.0 if threads is None else _foreign(busy, _fio_side(facts, figures), figures["target_cpu"], cpus)
    return figures, threads, foreign, values


def _fio_side(facts, figures):
    """% of a CPU that went to fio, or to the QEMU in whose guest it ran."""
    if "guest" not in facts:
        return figures["fio_user"] + figures["fio_system"]
    served = figures["target_cpu"] if facts["guest"]["disk"] == "virtio-blk" else 0.0
    return (figures["qemu_cpu"] or 0.0) - served


def _foreign(busy, fio, target, cpus):
    """% of a CPU that neither FIO's side nor the TARGET used: of the worse pinned one, or of all together."""
    if not cpus["pinned"]:
        return max(0.0, sum(busy.values()) - fio - target) if busy else 0.0
    ours = {cpus["fio"]: fio, cpus["target"]: target}
    return max([0.0] + [busy[c] - ours[c] for c in busy])


def of_threads(threads, rate):
    """The target's CPU and switches, RATE being the I/Os per second meanwhile."""
    def total(*keys):
        return sum(t[k] for t in threads.values() for k in keys)
    used = total("user", "system")
    out = {"target_user": total("user"), "target_system": total("system"), "target_cpu": used,
           "target_us_per_io": used / 100 * 1e6 / rate}
    if all("voluntary" in t for t in threads.values()):
        out["switches_per_io"] = total("voluntary") / rate
        out["involuntary_per_io"] = total("involuntary") / rate
    workers = [t["user"] + t["system"] for name, t in threads.items() if re.fullmatch(r"worker(\d+\.\d+)?", name)]
    if workers:
        out["worker_cpu"] = sum(workers)
    return out


def served(stats, counted, merged=0):
    """What the target counted, per I/O.

    It counts from its start, ramp and set-up included. COUNTED is fio's number of I/Os, MERGED
    how many of them are part of another's request: the target cannot have served fewer.
    """
    threads = stats["iothreads"]
    at_device = sum(t["requests"].get(k, 0) for t in threads for k in _SERVED)
    requests = merged + at_device
    errors = sum(t["errors"] for t in threads)
    if errors:
        raise RunFailed(f"the target answered {errors} requests with an error")
    if requests < counted:
        raise RunFailed(f"fio counted {counted} I/Os, the target served {requests}")
    per = lambda total: total / requests  # noqa: E731
    workers = stats.get("workers", [])
    return {
        "kicks_per_io": per(sum(t["notifications"]["received"] for t in threads)),
        "calls_per_io": per(sum(t["notifications"]["sent"] for t in threads)),
        "requests_per_io": per(at_device),
        "sleeps_per_io": per(sum(t["sleeps"] for t in threads)),
        "pool_threads": len(workers) or None,
        "worker_sleeps_per_io": per(sum(w["sleeps"] for w in workers)) if workers else None,
    }
