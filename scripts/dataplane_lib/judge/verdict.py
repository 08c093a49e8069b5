# SPDX-License-Identifier: GPL-2.0-only
"""B against A, metric by metric, in a line each, and everything that should make one doubt it.

The metric named beforehand decides, is tested at 5 % and has a p. All others have intervals at the level that Holm's rule leaves each
of them, so that twenty of them do not find something by chance; their marks say what the intervals say.
"""

from dataclasses import dataclass, field

import numpy as np

from . import words
from ..model import metrics
from ..model.run import left_out
from ..stats import doubts, ranks
from ..errors import NotMeasured

# What is judged beside the primary metric. Every one more makes it harder for all the others to be
# believed, so there is none whose meaning another one has already.
_OTHERS = ("iops", "bw_mib", "lat_mean_us", "lat_p50_us", "lat_p99_us", "lat_p99.9_us", "lat_p99.99_us",
           "target_cpu", "target_us_per_io", "fio_us_per_io", "kicks_per_io", "calls_per_io", "sleeps_per_io",
           "switches_per_io")


@dataclass
class Line:
    """What was found about a metric: A and B are what the pairs are around, so that they are as far apart as FOUND says.

    FOUND has the level that the line was judged at; P is of the primary metric only.
    """
    key: str
    primary: bool
    a: float
    b: float
    found: ranks.Comparison

    @property
    def direction(self):
        """+1, -1; 0 where the interval holds 0, or is none."""
        found = self.found
        return 0 if not found.enough or found.low <= 0 <= found.high else 1 if found.estimate > 0 else -1

    @property
    def metric(self):
        return metrics.BY_KEY[self.key]

    @property
    def word(self):
        """'faster', 'slower', 'less', 'more'; '~' where nothing was found, '?' where so few runs could find nothing."""
        if not self.direction:
            return words.NONE if self.same or self.found.enough else words.OPEN
        if self.key in ("iops", "bw_mib") or self.key.startswith("lat_"):
            return "faster" if self.direction * self.metric.better > 0 else "slower"
        return "more" if self.direction > 0 else "less"

    @property
    def same(self):
        """It never varied."""
        return self.found.low == self.found.high == 0

    @property
    def text(self):
        """'+3.1 % (+2.2 % to +4.0 %), p=0.008, faster'."""
        if self.same:
            return "the same in every run"
        unit = self.metric.unit if self.found.kind != "ratio" else ""
        chance = f" p={words.probability(self.found.p)}" if self.primary else ""
        return f"{words.change(self.found, unit)} ({words.interval(self.found, unit)}){chance} {self.word}"

    def record(self):
        """For result.json."""
        return {"metric": self.key, "primary": self.primary, "a": self.a, "b": self.b, "kind": self.found.kind,
                "estimate": self.found.estimate, "low": self.found.low, "high": self.found.high,
                "p": self.found.p if self.primary else None, "level": self.found.level, "wanted": self.found.wanted,
                "n": self.found.n, "word": self.word, "text": self.text}


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
    out = _lines(near_a, near_b, primary, level)
    out.left_out = left
    out.notes = _left_notes(a, b, primary, left, out, level) + out.notes
    if len(left) == len(a):
        for line in out.lines:
            line.found.level = 0.0
    out.notes += out.primary.found.notes + _second_opinion(near_a, near_b, out.primary)
    out.notes += _in_time(a, b, primary)
    ratios = _log_ratios(near_a, near_b, primary)
    out.notes += doubts.distance([r.distance for r in near_a], [r.distance for r in near_b], ratios)
    return out


def _values(runs, key):
    return [r.metrics.get(key) for r in runs]


def _log_ratios(a, b, key):
    """Logarithms of the ratios of pairs; empty where there is a 0."""
    x, y = np.asarray(_values(a, key), float), np.asarray(_values(b, key), float)
    return np.log(y / x) if (x > 0).all() and (y > 0).all() else np.zeros(len(x))


def _lines(a, b, primary, level):
    """The Verdict's lines: primary first, the others at corrected levels."""
    keys = [k for k in (primary, *(k for k in _OTHERS if k != primary))
            if all(v is not None for v in _values(a, k) + _values(b, k))]
    if primary not in keys:
        raise NotMeasured(f"{primary}: not every run has a figure for it")
    if "bw_mib" in keys and primary != "bw_mib" and _same_as_iops(a + b):
        keys.remove("bw_mib")
    lines = [_line(key, key == primary, _values(a, key), _values(b, key), level) for key in keys]
    # What never varied, such as a count of 0 in all runs, asks no question.
    others = [i for i in range(1, len(lines)) if not lines[i].same]
    for i, wanted in zip(others, ranks.holm_levels([lines[i].found.p for i in others], level)):
        lines[i] = _line(keys[i], False, _values(a, keys[i]), _values(b, keys[i]), wanted)
    notes = _few_for_others(lines[0].found, len(others))
    part = [k for k in _OTHERS if k not in keys and any(v is not None for v in _values(a, k) + _values(b, k))
            and k != "bw_mib"]
    if part:
        notes.append("not judged, because not every run has a figure: " + ", ".join(metrics.BY_KEY[k].label for k in part))
    return Verdict(lines, notes)


def _line(key, primary, x, y, level):
    """The Line of one metric, of runs in pairs."""
    found = ranks.paired(x, y, level)
    x, y = np.asarray(x, float), np.asarray(y, float)
    if found.kind == "ratio":
        middle, half = float(np.median(np.log(x * y) / 2)), np.log1p(found.estimate / 100) / 2
        return Line(key, primary, float(np.exp(middle - half)), float(np.exp(middle + half)), found)
    middle, half = float(np.median((x + y) / 2)), found.estimate / 2
    return Line(key, primary, middle - half, middle + half, found)


def _same_as_iops(runs):
    """True where all I/Os have one size: then bandwidth is the same figure twice."""
    ratios = [r.metrics["bw_mib"] / r.metrics["iops"] for r in runs if r.metrics["iops"]]
    return bool(ratios) and max(ratios) - min(ratios) <= 0.01 * max(ratios)


def _few_for_others(found, others):
    """Said when the correction leaves the other metrics no chance at all."""
    if found.enough and others * found.least > 1 - found.wanted:
        return [f"{found.n} pairs decide the primary metric only: {others} other metrics need more"]
    return []


def _second_opinion(a, b, line):
    """What the bootstrap says about the primary metric, told where it says something else."""
    if not line.found.enough:
        return []
    low, high = ranks.bootstrap(_values(a, line.key), _values(b, line.key), True, line.found.wanted)
    if line.found.resolved == (not low <= 0 <= high):
        return []
    other = ranks.Comparison(line.found.kind, line.found.estimate, low, high, 1.0, line.found.n, line.found.level)
    return [f"borderline: the bootstrap's interval is {words.interval(other)}; more pairs would decide"]


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
    return [f"{text} (with them {metrics.BY_KEY[primary].label} {words.change(every)} ({words.interval(every)})"
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
