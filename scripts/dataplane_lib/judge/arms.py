# SPDX-License-Identifier: GPL-2.0-only
"""Every arm of a study against its baseline, all of them judged together: what the summary in words and the table rest on."""

import math
import statistics
from dataclasses import asdict, dataclass

from .. import units
from ..host import rtt
from ..model import metrics, shape
from ..stats import grid

# What a gain in the primary metric may be paid with, told beside it where it differs by so much.
_TAIL, _FAIRNESS = "lat_p99.99_us", "job_spread"
COSTS = ("lat_p99_us", "lat_p99.9_us", _TAIL, _FAIRNESS)
_WORTH_TELLING = 25.0


@dataclass
class Span:
    """An interval that several arms' intervals lie in."""
    kind: str
    estimate: float
    low: float
    high: float


def judge(result):
    """Put arm["verdict"], {metric: grid.Change as a dict}, and result["grid"] into RESULT, a digest; done once.

    The primary metric's comparisons are corrected for each other; so are those of each metric a gain may be paid with.
    """
    if "grid" in result:
        return
    primary = result["study"]["primary"]
    for arm in result["arms"]:
        arm["verdict"] = {}
    model = _judged(result, primary)
    _agree(result, primary, model)
    result.setdefault("warnings", [])[:0] = unsteady(result)
    for key in COSTS:
        if key != primary:
            _judged(result, key)
    result["grid"] = {"metric": primary, "level": grid.LEVEL, "comparisons": len(model.changes), "kind": model.kind,
                      "smallest": None if math.isinf(model.smallest) else model.smallest,
                      "left_out": left_out(result, primary),
                      "unsteady": list(grid.unsteady(figures(result, primary))),
                      "prior_df": None if math.isinf(model.prior[0]) else model.prior[0], "sd": model.prior[1]}


def _agree(result, key, model):
    """Give each arm the figure and the change that were judged, the mean of its runs on logarithms, so that tables and verdicts agree."""
    if model.kind != "ratio":
        return
    known = figures(result, key)
    for arm in result["arms"]:
        runs = known.get(arm["name"])
        if runs and key in arm["metrics"]:
            arm["metrics"][key]["value"] = math.exp(statistics.fmean(map(math.log, runs.values())))
        change = model.changes.get((arm["name"], arm["against"]))
        if change:
            arm["change"][key] = change.estimate


def unsteady(result):
    """Sentences about arms whose runs differ far beyond those of the others."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    return [f"{arm}: its runs differ far more than those of other arms, {metric.label} from {units.short(low)} to {units.short(high)}: run it again"
            for arm, (low, high) in grid.unsteady(figures(result, metric.key)).items()]


def again(result):
    """A sentence where arms had their runs made again."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    arms = [f"{name} ({metric.label} {units.short(low)} to {units.short(high)})" for name, (low, high) in result.get("again", {}).get("replaced", {}).items()]
    return [f"Made again and replaced, as the first runs differed far more than those of other arms: {', '.join(arms)}."] if arms else []


def figures(result, key):
    """{arm: {repeat: figure}} of the arms that are a measurement.

    Where the CPUs are pinned, a run in which they were not as far apart as usual is left out, unless its arm would be left with less than two.
    """
    near, odd = _by_distance(result, key)
    return {arm: kept if len(kept) > 1 else {**kept, **odd[arm]} for arm, kept in near.items()}


def left_out(result, key):
    """{arm: runs} of those that figures() leaves out."""
    near, odd = _by_distance(result, key)
    return {arm: len(odd[arm]) for arm, kept in near.items() if odd[arm] and len(kept) > 1}


def _by_distance(result, key):
    """({arm: {repeat: figure}}, the same of runs with another distance between the CPUs)."""
    out = {a["name"]: {} for a in result["arms"] if not a.get("no_measurement")}
    odd = {a: {} for a in out}
    for run in result["runs"]:
        value = run["metrics"].get(key)
        if run["arm"] in out and value is not None and math.isfinite(value):
            (odd if _far(result, run) else out)[run["arm"]][run["repeat"]] = value
    return out, odd


def _far(result, run):
    """True where the distance between the CPUs changed during RUN, or is not the study's usual one."""
    if not result.get("cpus", {}).get("pinned") or None in run["rtt"].values():
        return False
    return bool(rtt.marks(run["rtt"]["before"], run["rtt"]["after"], result.get("rtt_ns")))


def _judged(result, key):
    against = {a["name"]: a["against"] for a in result["arms"] if shape.measured(result, a)}
    direction, p = metrics.percentile_of(key)
    if p > 50:
        # A percentile that rests on single I/Os is no figure.
        few = {a["name"] for a in result["arms"] if p in (a.get("few_beyond_of", {}).get(direction, ()) if direction else a.get("few_beyond", ()))}
        against = {arm: base for arm, base in against.items() if not {arm, base} & few}
    model = grid.judge(figures(result, key), against.items())
    for arm in result["arms"]:
        change = model.changes.get((arm["name"], arm["against"]))
        if change:
            arm["verdict"][key] = asdict(change)
    return model


def found(arm, key):
    """The grid.Change of metric KEY of ARM, None where there is none."""
    known = arm.get("verdict", {}).get(key)
    return grid.Change(**known) if known else None


def costs(arm):
    """[(metric, Change)] of what got worse in ARM by enough to be told beside a gain, the tail of tails only once."""
    out = []
    for key in reversed(COSTS):
        change = found(arm, key)
        if change and change.direction > 0 and change.kind == "ratio" and change.estimate >= _WORTH_TELLING:
            if not (key.startswith("lat_") and any(k.startswith("lat_") for k, _ in out)):
                out.append((key, change))
    return out[::-1]
