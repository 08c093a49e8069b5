# SPDX-License-Identifier: GPL-2.0-only
"""dataplane percentiles: latency distributions of several arms and results, over each other and over time."""

import fnmatch
from dataclasses import dataclass, field
from pathlib import Path

from .. import units
from ..model import metrics, shape
from ..read import digest, store
from . import percentiles_plot, picture, plot, table, terminal
from ..stats import pooled
from ..errors import Refused
from .percentiles_plot import TOLD

# More curves than this overlap, and their table does not fit.
MOST = 8
_FEW = 6


@dataclass
class Curve:
    """The latencies of one arm: a histogram and, where it kept one, a log for each run."""
    name: str
    histograms: list
    logs: list = field(default_factory=list)

    @property
    def total(self):
        return sum(sum(h.values()) for h in self.histograms)

    def enough(self, p):
        """Are there I/Os enough for P?"""
        return metrics.beyond(self.total, p) >= metrics.FEWEST_BEYOND

    def intervals(self, ps):
        """{p: pooled.Percentile} of those of PS that have I/Os enough."""
        told = [p for p in ps if self.enough(p)]
        return pooled.intervals(self.histograms, told) if told else {}


def command(places, patterns, job, out):
    """dataplane percentiles RESULT…: pictures beside OUT, and a table on stdout; returns both as a dict."""
    curves, names = [], []
    for place in places:
        stored = store.load(place)
        result = digest.digest(stored)
        arms = _chosen(result, patterns, place)
        prefix = f"{place.name}: " if len(places) > 1 else ""
        if len(places) > 1 and len({p.name for p in places}) < len(places):
            prefix = f"{place}: "
        names += [prefix + arm["name"] for arm in arms]
        curves += of_arms(result, arms, stored.by_name(), job, prefix)
    if len(curves) > MOST:
        raise Refused(f"{len(curves)} arms are more than the {MOST} that a picture can hold: choose with --arm, of "
                      + units.listed(names))
    pictures = _write(curves, _stem(places, out))
    print("\n".join(lines(curves)))
    for path in pictures:
        print(f"picture: {path}")
    return {"arms": [_as_dict(curve) for curve in curves], "pictures": [str(path) for path in pictures]}


def _as_dict(curve):
    found = {f"{p:g}": {"value_ns": one.value, "low_ns": one.low, "high_ns": one.high, "level": one.level, "merged_ns": one.merged, "notes": one.notes}
             for p, one in curve.intervals(TOLD).items()}
    return {"name": curve.name, "runs": len(curve.histograms), "ios": curve.total, "percentiles": found}


def of_arms(result, arms, runs, job=None, prefix=""):
    """Curves of ARMS of RESULT, a digest; RUNS are its {name: store.Run}."""
    out = []
    for arm in arms:
        curve = Curve(prefix + arm["name"], [])
        for run in (r for r in result["runs"] if r["arm"] == arm["name"]):
            made = runs[run["directory"]]
            if job is not None:
                names = sorted({j["jobname"] for j in made.fio["jobs"]})
                if job not in names:
                    raise Refused(f"--job {job}: {arm['name']} has no such job; it has {', '.join(names)}")
            curve.histograms.append(made.histogram_of(job))
            curve.logs.append(made.latency_log(job))
        curve.logs = [log for log in curve.logs if log]
        out.append(curve)
    return out


def for_page(result, runs):
    """Pictures for the report of RESULT, whose {name: store.Run} are RUNS: of all arms where they are few, else of the baseline, the best and the worst."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    arms, which = result["arms"], ""
    if len(arms) > _FEW:
        ranked = sorted((a for a in arms if shape.value(a, metric.key) is not None),
                        key=lambda a: shape.value(a, metric.key) * (metric.better or 1))
        picked = [next(a for a in arms if a["baseline"]), ranked[-1], ranked[0]]
        arms = [a for n, a in enumerate(picked) if a not in picked[:n]]
        which = f" Of {len(result['arms'])} arms the baseline, the best and the worst by {metric.label}."
    curves, pyplot = of_arms(result, arms, runs), picture.pyplot()
    out = [plot.drawn(pyplot, "Latencies of all jobs and runs together; the band is the interval over runs. A curve ends where fewer than "
                     f"{metrics.FEWEST_BEYOND} I/Os are above it.{which}", percentiles_plot.distribution, curves, "latency")]
    if percentiles_plot.panels(curves):
        out.append(plot.drawn(pyplot, "Latencies over time, from fio's logs; the band goes from the lowest run to the highest." + which,
                             percentiles_plot.over_time, curves, "time"))
    return out


def _chosen(result, patterns, place):
    """The arms that --arm names, all of them without."""
    if not patterns:
        return result["arms"]
    names = [a["name"] for a in result["arms"]]
    wanted = {name for pattern in patterns for name in names if name == pattern or fnmatch.fnmatchcase(name, pattern)}
    if not wanted:
        raise Refused(f"--arm {' '.join(patterns)}: {place} has no such arm; it has {units.listed(names)}")
    return [a for a in result["arms"] if a["name"] in wanted]


def _stem(places, out):
    """Where the pictures go, without .svg and .png."""
    if out is None:
        return places[0] / "percentiles" if len(places) == 1 else Path.cwd() / "percentiles"
    path = Path(out)
    return path.with_suffix("") if path.suffix in (".svg", ".png") else path


def _write(curves, stem):
    """Write the pictures; their paths."""
    pyplot = picture.pyplot()
    drawn = [(stem.name, *percentiles_plot.distribution(curves, pyplot))]
    if percentiles_plot.panels(curves):
        drawn.append((f"{stem.name}-time", *percentiles_plot.over_time(curves, pyplot)))
    paths = []
    try:
        for name, figure, tips in drawn:
            paths += [stem.with_name(f"{name}.svg"), stem.with_name(f"{name}.png")]
            paths[-2].write_text(picture.svg(figure, tips, name), encoding="utf-8")
            figure.savefig(paths[-1], dpi=130)
            pyplot.close(figure)
    except OSError as err:
        raise Refused(f"{paths[-1]}: {err.strerror}") from None
    return paths


def lines(curves):
    """What the terminal shows."""
    letters = [chr(ord("A") + i) for i in range(len(curves))]
    out = ["latency (lat) of all jobs, median of the runs [95 % interval]", ""]
    out += [f"{letter}  {curve.name}: {_runs(curve)}, {curve.total} I/Os" for letter, curve in zip(letters, curves)]
    found = [curve.intervals(TOLD) for curve in curves]
    rows = [[f"p{p:g}", *(_cell(curve, known, p) for curve, known in zip(curves, found))] for p in TOLD]
    out += ["", *terminal.lines(table.Table(["", *letters], rows)), ""]
    notes = {}
    for letter, curve, known in zip(letters, curves, found):
        for note in sorted({n for one in known.values() for n in one.notes}):
            notes.setdefault(note, []).append(letter)
        missing = [p for p in TOLD if not curve.enough(p)]
        if missing:
            notes.setdefault(f"{_few(missing)} left out: fewer than {metrics.FEWEST_BEYOND} samples above "
                             f"(p{missing[0]:g} needs {metrics.FEWEST_BEYOND / (100 - missing[0]) * 100:,.0f} I/Os)", []).append(letter)
    out += [f"! {', '.join(who)}: {note}" for note, who in notes.items()]
    if not percentiles_plot.panels(curves):
        out.append("* no latency logs, so nothing over time: a job file keeps them with write_hist_log=${iops_log} and "
                   "log_hist_msec=500 (and not clat_percentiles=0)")
    return out


def _few(missing):
    names = [f"p{p:g}" for p in missing]
    return names[0] + (f" to {names[-1]}" if len(names) > 1 else "")


def _runs(curve):
    return f"{len(curve.histograms)} {'run' if len(curve.histograms) == 1 else 'runs'}"


def _cell(curve, known, p):
    return text(known[p]) if p in known else f"- ({metrics.beyond(curve.total, p):.2g} above)"


def text(found):
    """'116 µs [114 µs, 118 µs]'."""
    return f"{units.time(found.value)} [{units.time(found.low)}, {units.time(found.high)}]"
