# SPDX-License-Identifier: GPL-2.0-only
"""From the runs of a result to result.json."""

import statistics
from collections import Counter

from .. import files
from ..host import rtt
from ..model import guest_arm, metrics, peers
from . import fiojson, samples, store

FORMAT = 1
# Jobs that measured less of the longest one's time than this did not work together all the time.
_TOGETHER = 0.9


def digest(stored):
    """Everything that a report prints, from STORED, a store.Result."""
    with files.reading(stored.place / store.FILE):
        return _digest(stored)


def _digest(stored):
    header, runs, histograms = stored.header, [], {}
    for run in stored.counted():
        for direction, histogram in run.histograms.items():
            histograms.setdefault(run.arm, {}).setdefault(direction, Counter()).update(histogram)
        runs.append({"trace": run.facts.get("trace"), "directory": run.name, "arm": run.arm, "repeat": run.repeat, "rtt": run.facts["rtt"],
                     "metrics": run.metrics, "threads": run.threads, "foreign": run.foreign,
                     "samples": run.samples, "jobs": len(run.fio["jobs"]), "measured_ms": [fiojson.shortest_ms(run.fio), fiojson.runtime_ms(run.fio)],
                     "runtime_s": run.facts.get("runtime_s"), "no_measurement": guest_arm.why_none(run.facts), "marks": run.facts["marks"]})
    arms = [_arm(arm, [r for r in runs if r["arm"] == arm["name"]],
                 histograms[arm["name"]]) for arm in header["arms"]]
    _changes(arms)
    about = {k: v for k, v in header.items() if k not in ("schema", "version", "job_files", "limits_rate")}
    return {"format": FORMAT, **about, "rtt_ns": rtt.usual(runs), "arms": arms, "runs": runs,
            "warnings": _limited(header["limits_rate"], header["study"]["primary"]) + _warnings(header, arms, runs)}


def _arm(arm, runs, histograms):
    """Median, min and max over repeats; percentiles from the merged bins by direction, samples of all runs together."""
    merged = {key: us for direction, histogram in histograms.items() for key, us in fiojson.percentiles_us(histogram, direction).items()}
    merged.update(samples.figures([v for r in runs for v in r.get("samples", ())]))
    summary = {}
    for key in metrics.BY_KEY:
        values = [r["metrics"][key] for r in runs if r["metrics"].get(key) is not None]
        if values:
            summary[key] = {"value": merged.get(key, statistics.median(values)),
                            "min": min(values), "max": max(values)}
    none = {r["no_measurement"] for r in runs} - {""}
    return {**arm, "runs": len(runs), "metrics": summary, "no_measurement": ", ".join(sorted(none)),
            "marked": sum(bool(r["marks"]) for r in runs),
            "few_beyond": _few_beyond(histograms[""]), "few_beyond_of": {d: _few_beyond(histograms[d]) for d in metrics.DIRECTIONS if histograms.get(d)}}


def _few_beyond(histogram):
    """The percentiles of HISTOGRAM with too few samples above them."""
    ios = sum(histogram.values())
    return [p for p in metrics.PERCENTILES if p > 50 and metrics.beyond(ios, p) < metrics.FEWEST_BEYOND]


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


def _limited(jobs, primary):
    """A sentence where every job itself says how many I/Os a second there are to be, and that is what decides."""
    if not jobs or primary not in ("iops", "bw_mib"):
        return []
    return [f"{jobs[0]} limits its own rate (rate=, rate_iops=): {metrics.BY_KEY[primary].label} is the same in all arms that keep up, "
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
        out.insert(0, f"{which}: no measurement: {why}. Figures in parentheses show that the arm works, not how fast it is.")
    queued = [a["name"] for a in arms if _took_turns(a, runs)]
    if queued:
        out.append("The jobs ran one after another, not together, as the server takes fewer clients at a time than there "
                   f"are jobs (or the host was too busy to start them); IOPS is that of the jobs at work: {', '.join(queued)}.")
    foreign = [r for r in runs if r["foreign"] > store.FOREIGN]
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
    beyond = [(p, sum(p in a["few_beyond"] for a in arms)) for p in meta["study"].get("percentiles") or metrics.USUAL]
    if any(n for _, n in beyond):
        where = ", ".join(f"p{p:g} in {n} of {len(arms)} arms" for p, n in beyond if n)
        out.append(f"Latency percentiles unreliable, fewer than {metrics.FEWEST_BEYOND} samples above them: {where}.")
    if meta["steal_percent"] > 1:
        out.append(f"The hypervisor took {meta['steal_percent']:.1f} % of the CPU time away during the study (steal).")
    return out


def _times(meta, runs):
    """Sentences about how long runs, and the jobs in them, measured."""
    out = []
    uneven = [r for r in runs if _uneven(r)]
    if uneven:
        low, high = min(r["measured_ms"] for r in uneven)
        how = ("IOPS and CPU are those of all jobs over the time in which any worked." if all(r["metrics"]["at_once"] for r in uneven) else
               "IOPS is the sum of what each did while it worked, more than all did together over the whole time.")
        out.append(f"In {len(uneven)} of {len(runs)} runs the jobs did not measure equally long ({low / 1000:.2g} s against {high / 1000:.2g} s): {how}")
    wanted = [r["runtime_s"] for r in runs if r["runtime_s"]]
    brief = [r["measured_ms"][1] / 1000 for r in runs if r["runtime_s"] and r["measured_ms"][1] < 1000 * _TOGETHER * r["runtime_s"]]
    if brief:
        out.append(f"In {len(brief)} of {len(runs)} runs fio measured for less than the {max(wanted):g} s asked for, down to {min(brief):.2g} s: "
                   "the job came to its end (time_based=1 lets it go on) or was ended (steadystate).")
    return out


def _uneven(run):
    low, high = run["measured_ms"]
    return low < _TOGETHER * high


def _took_turns(arm, runs):
    """True where the jobs of ARM did not run together."""
    return any(r["metrics"].get("at_once") and not _uneven(r) and fiojson.took_turns(r["metrics"]["at_once"], r["jobs"])
               for r in runs if r["arm"] == arm["name"])
