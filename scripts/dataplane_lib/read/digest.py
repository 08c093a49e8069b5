# SPDX-License-Identifier: GPL-2.0-only
"""From the raw files of a result to result.json: refused if anything failed."""

import re
import statistics
from collections import Counter

from .. import files
from ..host import cpu, rtt
from ..model import guest_arm, jobfile, metrics, peers
from . import fiojson, samples
from ..stats import few
from ..errors import NotMeasured, RunFailed

FORMAT = 1
# More of a CPU than this (%) used by others spoils a run. Clock ticks and
# interrupts, which are nobody's, stay below.
_FOREIGN = 15
# Jobs that measured less of the longest one's time than this did not work together all the time.
_TOGETHER = 0.9
_SERVED = ("read", "write", "flush", "discard", "write_zeroes")


def digest(result):
    """Everything that a report prints, from the result directory RESULT."""
    meta = files.read_json(result / "meta.json")
    if meta["status"] != "complete":
        reason = meta.get("reason", "the study did not finish")
        raise NotMeasured(f"{result}: refused: {meta['status']}: {reason}")
    runs, histograms = [], {}
    for directory in sorted((result / "raw").iterdir()):
        record = files.read_json(directory / "run.json")
        try:
            if record["status"] != "complete":
                raise RunFailed(record.get("reason", record["status"]))
            doc = fiojson.load(directory / "fio.json")
            figures, threads, foreign, seconds = run_figures(directory, record, doc, meta["cpus"])
        except RunFailed as err:
            raise NotMeasured(f"{result}: refused: {directory.name}: {err}") from None
        if record["warmup"]:
            continue
        histograms.setdefault(record["arm"], Counter()).update(fiojson.bins(doc))
        traced = directory / "trace.json"
        runs.append({"trace": files.read_json(traced) if traced.exists() else None, "directory": directory.name, "arm": record["arm"],
                     "repeat": record["repeat"], "rtt": record["rtt"],
                     "metrics": figures, "threads": threads, "foreign": foreign,
                     "samples": seconds, "jobs": len(doc["jobs"]), "measured_ms": [fiojson.shortest_ms(doc), fiojson.runtime_ms(doc)],
                     "runtime_s": record.get("runtime_s"), "no_measurement": guest_arm.why_none(record)})
    for arm in meta["arms"]:
        there = sum(run["arm"] == arm["name"] for run in runs)
        if there != meta["study"]["repeats"]:
            raise NotMeasured(f"{result}: refused: {there} runs of {arm['name']} are there, the study has {meta['study']['repeats']}")
    usual = rtt.usual(runs)
    for run in runs:
        run["marks"] = rtt.marks(run["rtt"]["before"], run["rtt"]["after"], usual)
        if run["foreign"] > _FOREIGN:
            run["marks"].append(f"others used {run['foreign']:.0f} % of a CPU")
        if run["threads"] is None and meta["has_target"]:
            run["marks"].append("the target's CPU was not sampled: this program itself got none")
    arms = [_arm(arm, [r for r in runs if r["arm"] == arm["name"]],
                 histograms[arm["name"]]) for arm in meta["arms"]]
    _changes(arms)
    return {"format": FORMAT, **meta, "rtt_ns": usual, "arms": arms, "runs": runs,
            "warnings": _limited(result, meta["study"]["primary"]) + _warnings(meta, arms, runs)}


def run_figures(directory, record, doc, cpus):
    """(metrics, CPU by thread, % of a pinned CPU that others used, IOPS samples) of one run."""
    figures = dict.fromkeys(metrics.BY_KEY)
    step = record.get("sample_ms", 1000)
    logs = samples.load(directory, "job", step)
    seconds = samples.summed(logs, step) if logs else []
    values = [value for _, value in seconds]
    figures.update(fiojson.figures(doc, samples.at_once(logs) if logs else None))
    figures.update(samples.figures(values))
    if "target" not in record:
        return figures, None, record.get("neighbours", 0.0), values
    offset = record["clock_offset_s"]
    runtime = fiojson.runtime_ms(doc) / 1000
    # fio's client does not tell when it was over, see client.ended().
    last = record["ended_s"] if "ended_s" in record else doc["timestamp_ms"] / 1000 - offset
    if logs:
        first, last = (when / 1000 - offset for when in samples.together(logs))
        runtime = last - first
    start, end = cpu.steady(last, runtime)
    taken = files.read_json(directory / "cpu.json")
    threads = cpu.window(taken, start, end)
    # What the CPU was used for: the I/Os of the same time, where that is known.
    meanwhile = [v for when, v in seconds if start <= when / 1000 - offset <= end]
    rate = statistics.fmean(meanwhile) if meanwhile else figures["iops"]
    if threads is not None:
        figures.update(of_threads(threads, rate))
    if "guest" in record:
        whole = cpu.window(files.read_json(directory / "qemu-cpu.json"), start, end)
        if whole is not None:
            figures["qemu_cpu"] = sum(t["user"] + t["system"] for t in whole.values())
    stats = directory / "target-stats.json"
    if stats.exists():
        figures.update(served(files.read_json(stats), figures["iops"], fiojson.total_ios(doc), _merged(directory)))
    elif "--stats" in record["target"]:
        raise RunFailed("the target wrote no stats")
    if threads is not None and figures["bw_mib"]:
        fio = 1e4 * _fio_side(record, figures)
        figures["cpu_us_per_mib"] = (figures["target_us_per_io"] * figures["iops"] + fio) / figures["bw_mib"]
    busy = cpu.busy(taken, start, end)
    if "ended_s" in record:
        # Where fio's servers are, and on which CPUs, is not known: only the target's own CPU tells of others.
        busy = {c: v for c, v in busy.items() if cpus["pinned"] and c == cpus["target"]}
    foreign = 0.0 if threads is None else _foreign(busy, _fio_side(record, figures), figures["target_cpu"], cpus)
    return figures, threads, foreign, values


def _fio_side(record, figures):
    """% of a CPU that went to fio, or to the QEMU in whose guest it ran."""
    if "guest" not in record:
        return figures["fio_user"] + figures["fio_system"]
    served = figures["target_cpu"] if record["guest"]["disk"] == "virtio-blk" else 0.0
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


def _merged(directory):
    """I/Os that left fio's engine as a part of another's request (merge=)."""
    return sum(files.read_json(path).get("merged", 0) for path in directory.glob("engine.*.json"))


def served(stats, iops, counted, merged=0):
    """What the target counted, per I/O and per second.

    The target counts from its start, ramp and set-up included, so rates are
    its counts per request times fio's IOPS. COUNTED is fio's number of I/Os, MERGED
    how many of them are part of another's request: the target cannot have served fewer.
    """
    threads = stats["iothreads"]
    requests = merged + sum(t["requests"].get(k, 0) for t in threads for k in _SERVED)
    errors = sum(t["errors"] for t in threads)
    if errors:
        raise RunFailed(f"the target answered {errors} requests with an error")
    if requests < counted:
        raise RunFailed(f"fio counted {counted} I/Os, the target served {requests}")
    per = lambda total: total / requests  # noqa: E731
    workers = stats.get("workers", [])
    return {
        "kicks_per_s": per(sum(t["notifications"]["received"] for t in threads)) * iops,
        "calls_per_s": per(sum(t["notifications"]["sent"] for t in threads)) * iops,
        "sleeps_per_io": per(sum(t["sleeps"] for t in threads)),
        "pool_threads": len(workers) or None,
        "worker_sleeps_per_io": per(sum(w["sleeps"] for w in workers)) if workers else None,
    }


def _arm(arm, runs, histogram):
    """Median, min and max over repeats; percentiles from the merged bins, samples of all runs together."""
    merged, ios = fiojson.percentiles_us(histogram), sum(histogram.values())
    merged.update(samples.figures([v for r in runs for v in r.get("samples", ())]))
    summary = {}
    for key in metrics.BY_KEY:
        values = [r["metrics"][key] for r in runs if r["metrics"][key] is not None]
        if values:
            summary[key] = {"value": merged.get(key, statistics.median(values)),
                            "min": min(values), "max": max(values)}
    none = {r["no_measurement"] for r in runs} - {""}
    return {**arm, "runs": len(runs), "metrics": summary, "no_measurement": ", ".join(sorted(none)),
            "marked": sum(bool(r["marks"]) for r in runs),
            "few_beyond": [p for p in metrics.PERCENTILES if p > 50 and metrics.beyond(ios, p) < metrics.FEWEST_BEYOND]}


def _changes(arms):
    """Change of every metric against the arm's baseline, in %; none where one of them is no measurement."""
    by_name = {a["name"]: a for a in arms}
    for arm in arms:
        against = by_name[arm["against"]]
        base = against["metrics"]
        arm["change"] = {} if arm["no_measurement"] or against["no_measurement"] else {
            key: 100 * (entry["value"] / base[key]["value"] - 1)
            for key, entry in arm["metrics"].items()
            if key in base and base[key]["value"]}


def _limited(result, primary):
    """A sentence where every job itself says how many I/Os a second there are to be, and that is what decides."""
    jobs = [p for p in result.glob("*.fio") if all(s.get("rate") or s.get("rate_iops") for s in jobfile.kept(p).sections)]
    if not jobs or primary not in ("iops", "bw_mib"):
        return []
    return [f"{jobs[0].name} limits its own rate (rate=, rate_iops=): {metrics.BY_KEY[primary].label} is the same in all arms that keep up, "
            "and tells nothing else; latency and CPU do."]


def _warnings(meta, arms, runs):
    """Sentences about what may have spoilt the figures."""
    out = []
    if meta["cpus"]["note"]:
        out.append(meta["cpus"]["note"] + ".")
    out += peers.skipped_words(meta["study"].get("skipped", []))
    for why in sorted({a["no_measurement"] for a in arms} - {""}):
        names = [a["name"] for a in arms if a["no_measurement"] == why]
        which = ", ".join(names) if len(names) <= 4 else f"{len(names)} of {len(arms)} arms"
        out.insert(0, f"{which}: no measurement, as {why}. Such figures, in parentheses, show that it works, and nothing of speed.")
    queued = [a["name"] for a in arms if _took_turns(a, runs)]
    if queued:
        out.append("The jobs ran one after another, not together, as the server takes fewer clients at a time than there "
                   f"are jobs (or the host was too busy to start them); IOPS is that of the jobs at work: {', '.join(queued)}.")
    foreign = [r for r in runs if r["foreign"] > _FOREIGN]
    if foreign:
        out.append(f"In {len(foreign)} of {len(runs)} runs something else used the CPUs, up to "
                   f"{max(r['foreign'] for r in foreign):.0f} % of one (marked !): repeat on an idle machine.")
    starved = [r for r in runs if r["threads"] is None and meta["has_target"]]
    if starved:
        out.append(f"In {len(starved)} of {len(runs)} runs the target's CPU could not be sampled, because the jobs left "
                   "no CPU for it (marked !): those runs have no CPU figures.")
    moved = [r for r in runs if len(r["marks"]) > (r in foreign) + (r in starved)]
    if moved:
        out.append(f"In {len(moved)} of {len(runs)} runs the distance between the two CPUs changed, or was far "
                   "from the usual one (marked !): compare those arms with care.")
    middles = [rtt.usual([r for r in runs if r["arm"] == a["name"]]) for a in arms]
    middles = [m for m in middles if m]
    if middles and max(middles) > rtt.CHANGED * min(middles):
        out.append(f"The arms' median round trips differ: {min(middles):.0f} to {max(middles):.0f} ns.")
    out += _times(meta, runs)
    beyond = [(p, sum(p in a["few_beyond"] for a in arms)) for p in metrics.PERCENTILES]
    if any(n for _, n in beyond):
        told = ", ".join(f"p{p:g} in {n} of {len(arms)} arms" for p, n in beyond if n)
        out.append(f"Fewer than {metrics.FEWEST_BEYOND} I/Os lie beyond lat {told}: there it tells of single I/Os.")
    n = meta["study"]["repeats"]
    if few.runs(n):
        out.append(f"Only {n} {'run' if n == 1 else 'runs'} an arm: equal arms lie outside each other's range {few.by_chance(n)}, "
                   f"so nothing is said of a difference of {few.OBVIOUS:g} % or less; {few.FEWEST} runs tell more.")
    if meta["steal_percent"] > 1:
        out.append(f"The hypervisor took {meta['steal_percent']:.1f} % of the CPU time away during the study (steal).")
    return out


def _times(meta, runs):
    """Sentences about how long runs, and the jobs in them, measured."""
    out = []
    together = [r["measured_ms"] for r in runs if not fiojson.took_turns(r["metrics"]["at_once"] or r["jobs"], r["jobs"])]
    uneven = [(low, high) for low, high in together if low < _TOGETHER * high]
    if uneven:
        out.append(f"In {len(uneven)} of {len(runs)} runs the jobs did not measure equally long ({min(uneven)[0] / 1000:.2g} s against {min(uneven)[1] / 1000:.2g} s): "
                   "IOPS is the sum of what each did while it worked, more than all did together over the whole time.")
    wanted = [r["runtime_s"] for r in runs if r["runtime_s"]]
    brief = [r["measured_ms"][1] / 1000 for r in runs if r["runtime_s"] and r["measured_ms"][1] < 1000 * _TOGETHER * r["runtime_s"]]
    if brief:
        out.append(f"In {len(brief)} of {len(runs)} runs fio measured for less than the {max(wanted):g} s asked for, down to {min(brief):.2g} s: "
                   "the job came to its end (time_based=1 lets it go on) or was ended (steadystate).")
    return out


def _took_turns(arm, runs):
    """True where the jobs of ARM did not run together."""
    return any(r["metrics"].get("at_once") and fiojson.took_turns(r["metrics"]["at_once"], r["jobs"])
               for r in runs if r["arm"] == arm["name"])
