# SPDX-License-Identifier: GPL-2.0-only
"""B against A, metric by metric, in a line each, and everything that should make one doubt it.

A metric named beforehand decides and is tested at 5 %; the p of all the others together are
corrected by Holm's rule, so that twenty of them do not find something by chance.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import units
from ..host import rtt
from ..model import metrics
from ..stats import doubts, few, latency, pooled, ranks
from ..errors import NotMeasured

_PERCENTILES = {metrics.percentile_key(p): p for p in metrics.PERCENTILES}
# What is judged beside the primary metric. Every one more makes it harder for all the others to be
# believed, so there is none whose meaning another one has already.
_OTHERS = ("iops", "bw_mib", "lat_mean_us", "lat_p50_us", "lat_p99_us", "lat_p99.9_us", "lat_p99.99_us",
           "target_cpu", "target_us_per_io", "fio_us_per_io", "kicks_per_s", "calls_per_s", "sleeps_per_io",
           "switches_per_io")
_WORDS = {"iops": ("faster", "slower"), "bw_mib": ("faster", "slower")}


@dataclass
class Run:
    """One run of an arm: figures by metric, histogram of latencies, round trips before and after."""
    metrics: dict
    histogram: dict
    rtt: dict

    @property
    def distance(self):
        """Mean round trip in ns, None where it was not measured."""
        before, after = self.rtt["before"], self.rtt["after"]
        return None if before is None or after is None else (before + after) / 2


@dataclass
class Line:
    """What was found about a metric. P is corrected where PRIMARY is false.

    DIRECTION is 0 where no difference was found; TOGETHER is with how many others it was corrected.
    """
    key: str
    primary: bool
    a: float
    b: float
    found: ranks.Comparison
    p: float
    direction: int = 0
    together: int = 1

    @property
    def hopeless(self):
        """So few runs could not have found anything, whatever they had said."""
        return not self.direction and (not self.found.enough or self.together * self.found.least > 1 - self.found.wanted)

    @property
    def metric(self):
        return metrics.BY_KEY[self.key]

    @property
    def word(self):
        """'faster', 'slower', 'less', 'more'; '~' where nothing was found, '?' where nothing could be."""
        if not self.direction:
            return "?" if self.hopeless and not self.same else "~"
        if self.key in _WORDS or self.key.startswith("lat_"):
            good = self.direction * self.metric.better > 0
            return "faster" if good else "slower"
        return "more" if self.direction > 0 else "less"

    @property
    def same(self):
        """It never varied."""
        return self.found.low == self.found.high == 0

    @property
    def text(self):
        """'+3.1 % [+2.2, +4.0] p=0.008 faster'."""
        if self.same:
            return "the same in every run"
        return f"{change(self.found)} p={probability(self.p)} {self.word}"

    def record(self):
        """For result.json."""
        return {"metric": self.key, "primary": self.primary, "a": self.a, "b": self.b, "kind": self.found.kind,
                "estimate": self.found.estimate, "low": self.found.low, "high": self.found.high, "p": self.p,
                "level": self.found.level, "n": self.found.n, "word": self.word, "text": self.text}


@dataclass
class Verdict:
    """LINES, the primary metric first; NOTES are sentences; LEFT_OUT numbers the pairs not compared."""
    lines: list
    notes: list = field(default_factory=list)
    left_out: list = field(default_factory=list)

    @property
    def primary(self):
        return self.lines[0]

    def line(self, key):
        """The line about metric KEY, None where there are no figures."""
        return next((x for x in self.lines if x.key == key), None)


def change(found):
    """'+3.1 % [+2.2, +4.0]', or without '%' where a change in % means nothing because of a 0."""
    if found.kind == "ratio":
        # As many digits as the interval is worth.
        size = abs(found.estimate)
        digits = 0 if size >= 1000 else 1 if found.high - found.low > 0.3 or size >= 10 else 2
        return f"{found.estimate:+.{digits}f} % [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
    return f"{_signed(found.estimate)} [{_signed(found.low)}, {_signed(found.high)}]"


def _signed(value):
    return ("-" if value < 0 else "+") + units.short(abs(value))


def probability(p):
    """A p as people write it."""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def of_pairs(a, b, primary, level=ranks.LEVEL):
    """The Verdict on runs A and B (lists of Run) that were made in pairs.

    A pair whose runs had another distance between cores each, or in one of which it changed, is not
    compared: the pair is told, and what it would have changed.
    """
    left = left_out(a, b)
    near_a, near_b = ([r for i, r in enumerate(runs, 1) if i not in left] for runs in (a, b))
    if not near_a:
        # Nothing is left to compare: say what there is, and that it decides nothing.
        near_a, near_b = a, b
    out = _lines(near_a, near_b, primary, True, level)
    out.left_out = left
    out.notes = _left_notes(a, b, primary, left, out, level) + out.notes
    if len(left) == len(a):
        for line in out.lines:
            line.direction, line.found.level = 0, 0.0
    out.notes += out.primary.found.notes + _second_opinion(near_a, near_b, out.primary)
    out.notes += _in_time(a, b, primary)
    ratios = _log_ratios(near_a, near_b, primary)
    out.notes += doubts.distance([r.distance for r in near_a], [r.distance for r in near_b], ratios)
    return out


def left_out(a, b):
    """The numbers of the pairs, from 1, that are not compared."""
    far = doubts.unequal([r.distance for r in a], [r.distance for r in b])
    return [i for i, (f, x, y) in enumerate(zip(far, a, b), 1) if f or _moved(x) or _moved(y)]


def of_groups(a, b, primary, names=("A", "B")):
    """The Verdict on runs A and B that were made at different times: no pairs."""
    out = _lines(a, b, primary, False, ranks.LEVEL)
    out.notes += out.primary.found.notes
    if not out.primary.found.enough:
        out.notes.append(f"of so few runs only {out.primary.metric.label} is told, where it is more than {few.OBVIOUS:g} % apart "
                         "and each run outside the other result's range")
    for runs, name in ((a, names[0]), (b, names[1])):
        out.notes += _of_arm(runs, primary, name)
    middles = [rtt.usual([{"rtt": r.rtt} for r in runs]) for runs in (a, b)]
    if all(middles) and max(middles) > rtt.CHANGED * min(middles):
        out.notes.append(f"cache-line round trip: {names[0]} {middles[0]:.0f} ns, {names[1]} {middles[1]:.0f} ns "
                         "(medians): not the same distance between cores, and a difference may be due to that")
    return out


def _moved(run):
    """Did the distance change during the run?"""
    return bool(rtt.marks(run.rtt["before"], run.rtt["after"], None))


def _values(runs, key):
    return [r.metrics.get(key) for r in runs]


def _log_ratios(a, b, key):
    """Logarithms of the ratios of pairs; empty where there is a 0."""
    x, y = np.asarray(_values(a, key), float), np.asarray(_values(b, key), float)
    return np.log(y / x) if (x > 0).all() and (y > 0).all() else np.zeros(len(x))


def _lines(a, b, primary, is_paired, level):
    """The Verdict's lines: primary first, the others corrected."""
    keys = [k for k in (primary, *(k for k in _OTHERS if k != primary))
            if all(v is not None for v in _values(a, k) + _values(b, k))]
    if primary not in keys:
        raise NotMeasured(f"{primary}: not every run has a figure for it")
    if "bw_mib" in keys and primary != "bw_mib" and _same_as_iops(a + b):
        keys.remove("bw_mib")
    compare = ranks.paired if is_paired else ranks.unpaired
    merged_runs = (pooled.paired if is_paired else pooled.unpaired)(
        [r.histogram for r in a], [r.histogram for r in b], list(metrics.PERCENTILES), level)
    merged = [latency.Bins([r.histogram for r in runs]).merged(list(metrics.PERCENTILES)) for runs in (a, b)]
    lines = []
    for key in keys:
        if key in _PERCENTILES:
            p = _PERCENTILES[key]
            lines.append(Line(key, key == primary, merged[0][p] / 1000, merged[1][p] / 1000, merged_runs[p], merged_runs[p].p))
        else:
            x, y = _values(a, key), _values(b, key)
            found = compare(x, y, level)
            lines.append(Line(key, key == primary, float(np.median(x)), float(np.median(y)), found, found.p))
    # What never varied, such as a count of 0 in all runs, asks no question.
    others = [x for x in lines[1:] if not x.same]
    for line, p in zip(others, ranks.holm([x.p for x in others])):
        line.p, line.together = p, len(others)
    for line in lines:
        # Of few runs only the metric that was named beforehand is told: of a dozen more some are always far apart.
        if line.found.resolved and line.p <= 1 - level or line.primary and not is_paired and obvious(line.found):
            line.direction = 1 if line.found.estimate > 0 else -1
    notes = _few_for_others(lines[0].found, len(others)) if is_paired else []
    part = [k for k in _OTHERS if k not in keys and any(v is not None for v in _values(a, k) + _values(b, k))
            and k != "bw_mib"]
    if part:
        notes.append("not judged, because not every run has a figure: " + ", ".join(metrics.BY_KEY[k].label for k in part))
    return Verdict(lines, notes)


def obvious(found):
    """True of a few runs that no test can tell apart, and that differ so much that it is told all the same."""
    apart = found.low > 0 or found.high < 0
    return few.runs(found.n) and found.kind == "ratio" and apart and few.obvious(found.estimate)


def _same_as_iops(runs):
    """True where all I/Os have one size: then bandwidth is the same figure twice."""
    ratios = [r.metrics["bw_mib"] / r.metrics["iops"] for r in runs if r.metrics["iops"]]
    return bool(ratios) and max(ratios) - min(ratios) <= 0.01 * max(ratios)


def _few_for_others(found, others):
    """Said when the correction leaves the other metrics no chance at all."""
    if found.enough and others * found.least > 1 - found.wanted:
        return [f"{found.n} pairs decide about the primary metric only: none of {others} others can "
                f"reach p={1 - found.wanted:.2g} once corrected"]
    return []


def _second_opinion(a, b, line):
    """What the bootstrap says about the primary metric, told where it says something else."""
    if line.key in _PERCENTILES or not line.found.enough:
        return []
    low, high = ranks.bootstrap(_values(a, line.key), _values(b, line.key), True, line.found.wanted)
    if line.found.resolved == (not low <= 0 <= high):
        return []
    return [f"borderline: the bootstrap's interval of the median change is [{low:+.1f}, {high:+.1f}]"
            + (" %" if line.found.kind == "ratio" else "")
            + (", which holds 0" if line.found.resolved else ", which does not hold 0") + "; more pairs would tell"]


def _left_notes(a, b, primary, left, kept, level):
    """Which pairs were not compared, and whether that matters."""
    if not left:
        return []
    which = ", ".join(map(str, left))
    text = (f"{'pair' if len(left) == 1 else 'pairs'} {which} of {len(a)} not compared: the distance between "
            "the cores was not the same in both runs")
    if len(left) == len(a):
        return [text + "; no pair is left, so the figures decide nothing"]
    every = ranks.paired(_values(a, primary), _values(b, primary), level)
    return [f"{text} (with them {metrics.BY_KEY[primary].label} {change(every)} p={probability(every.p)}"
            + ("" if every.resolved == kept.primary.found.resolved else ": that would change the verdict") + ")"]


def _in_time(a, b, primary):
    """Modes and drift of either arm, and of the difference."""
    moving = doubts.drift(np.exp(_log_ratios(a, b, primary)), "the ratio of B to A")
    return (_of_arm(a, primary, "A") + _of_arm(b, primary, "B")
            + ([moving + ": the arms did not drift together"] if moving else []))


def _of_arm(runs, primary, name):
    label = f"{name}'s {metrics.BY_KEY[primary].label}"
    values = _values(runs, primary)
    return [text for text in (doubts.modes(values, label), doubts.drift(values, label)) if text]
