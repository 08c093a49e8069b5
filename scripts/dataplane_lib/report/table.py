# SPDX-License-Identifier: GPL-2.0-only
"""The tables of a result: each is described once here, and drawn by terminal.py, by the page, and as CSV."""

import csv
from dataclasses import dataclass, field

from .. import units
from ..judge import arms as judged, stages, summary, words
from ..model import guest_arm, metrics, shape

# With more series than this each gets one column, and what it costs is in the table of all figures; of several factors, with more than that, a row an arm.
_WIDE, _WIDEST = 4, 6
_CI = "95 % CI"


@dataclass
class Table:
    """HEAD and ROWS are text; TOP are headings over several columns, each over the empty ones after it.

    OPTIONAL are the columns that a narrow terminal leaves out, the first one first; NOTE says what has to be known to read it.
    """
    head: list
    rows: list
    top: list = field(default_factory=list)
    title: str = ""
    note: str = ""
    optional: list = field(default_factory=list)


def figure(arm, key):
    """An arm's figure with its unit where that depends on its size, in parentheses where it is no measurement."""
    text = units.quantity(shape.value(arm, key), metrics.BY_KEY[key].unit)
    return f"({text})" if arm.get("no_measurement") else text


def headed(metric):
    """A metric as a heading, with the unit that its cells do not have: 'IOPS', 'bandwidth, MiB/s'."""
    return metric.label + (f", {metric.unit}" if metric.unit and not units.in_cell(metric.unit) and metric.unit != "1/s" else "")


def _change(arm, key):
    """The change against the baseline, or why there is none."""
    if arm.get("no_measurement"):
        return guest_arm.NO_MEASUREMENT
    return "baseline" if arm["baseline"] else units.percent(arm["change"].get(key))


def _span(arms, key):
    """'-4.5 to +12.4 %': the change of ARMS, from the lowest to the highest; one text where that is all there is."""
    known = [a for a in arms if shape.value(a, key) is not None]
    # By the change, not the figure: a change comes from the rounds that both arms have, a figure from all of an arm's.
    texts = list(dict.fromkeys(_change(a, key) for a in sorted(known, key=lambda a: (a["change"].get(key) or 0.0, shape.value(a, key)))))
    if len(texts) < 2:
        return texts[0] if texts else "-"
    return f"{texts[0].removesuffix(' %')} to {texts[-1]}"


def _interval(arms, key):
    """'-4.5 to +12.4 %': what the intervals of ARMS together hold."""
    found = [c for c in (judged.found(a, key) for a in arms) if c and c.n > 1]
    if not found:
        return ""
    widest = max(found, key=lambda c: c.high - c.low)
    low, high = min(c.low for c in found), max(c.high for c in found)
    text = words.interval(judged.Span(widest.kind, widest.estimate, low, high), metrics.BY_KEY[key].unit if widest.kind != "ratio" else "")
    return text.replace(" % to ", " to ")


def _middle(arms, key):
    """The figure of an arm; of several that share a row '~' and the one in the middle."""
    known = sorted((a for a in arms if shape.value(a, key) is not None), key=lambda a: shape.value(a, key))
    if not known:
        return "-"
    return ("~" if len(known) > 1 else "") + figure(known[(len(known) - 1) // 2], key)


def different(result, arm):
    """True where ARM differs from its baseline in the primary metric."""
    metric = metrics.BY_KEY[result["study"]["primary"]]
    return shape.measured(result, arm) and summary.verdict(arm, metric) != 0


def main(result, folded=True):
    """The one table of a result: what the terminal shows. Where FOLDED, arms without a difference share a row."""
    if "told" in result:
        return told(result)[0]
    return side_by_side(result, folded) or _by_arm(result, folded)


def told(result):
    """The tables of a study that is reported in a form of its own."""
    return [_told(one) for one in result["told"]["tables"]]


def staged(result):
    """The tables about stages of requests, where arms were traced; a study that is reported in a form of its own has them among its own."""
    return [] if "told" in result else [_told(one) for one in stages.tables(result)]


def _told(one):
    return Table(one["head"], one["rows"], one["top"], one["title"], one["note"], one.get("optional", []))


def side_by_side(result, folded=False):
    """The primary metric along x, the series beside each other. None where the study has no numeric factor to go along, or too many series."""
    x = shape.along(result)
    if not x:
        return None
    primary, lines = result["study"]["primary"], shape.series(result)
    points = sorted(result["study"]["factors"][x], key=units.number)
    at = [[next((a for a in arms if a["values"][x] == value), None) for value in points] for _, arms in lines]
    if len(lines) > _WIDEST and len(result["study"]["factors"]) > 2:
        return None
    if len(lines) > _WIDE:
        return _matrix(result, x, points, lines, at)
    cpu = any(shape.value(a, "target_cpu") is not None for a in result["arms"])
    heads = [headed(metrics.BY_KEY[primary]), "change", *(["CPU"] if cpu else []), _CI]
    top, head = [""], [x]
    for name, _ in lines:
        top += [name, *[""] * (len(heads) - 1)]
        head += heads
    rows = []
    outside = shape.outside(result)
    if outside:
        bases = [shape.base(result, arms[0]) for _, arms in lines]
        rows.append([shape.label(result["study"]["baseline"]), *(c for b in bases for c in _cells([b] if b in outside else [], primary, cpu))])
    for first, last in _stretches(result, points, at, folded):
        row = [points[first] if first == last else f"{points[first]} to {points[last]}"]
        for arms in at:
            row += _cells([a for a in arms[first:last + 1] if a], primary, cpu)
        rows.append(row)
    # Each series' intervals go first, then its CPU; a table whose series are not alike is hard to read.
    return Table(head, rows, top, note=_note(rows, cpu), optional=[1 + len(heads) * n + at for at in range(len(heads) - 1, 1, -1) for n in range(len(lines))])


def _stretches(result, points, at, folded):
    """[(first, last)] of the rows: neighbours at which no series differs from its baseline are one, where FOLDED."""
    out = []
    for n in range(len(points)):
        here = [arms[n] for arms in at if arms[n]]
        same = folded and not any(a["baseline"] or a.get("no_measurement") or different(result, a) for a in here)
        if same and out and out[-1][2]:
            out[-1][1] = n
        else:
            out.append([n, n, same])
    return [(first, last) for first, last, _ in out]


def _matrix(result, x, points, lines, at):
    """One figure a cell: x down, a column a series."""
    primary, names = result["study"]["primary"], [k for k in result["study"]["factors"] if k != x]
    top = ["", f"{headed(metrics.BY_KEY[primary])} by {', '.join(names)}"] + [""] * (len(lines) - 1)
    rows = [[value] + ["" if arms[n] is None else figure(arms[n], primary) for arms in at] for n, value in enumerate(points)]
    heads = [", ".join(arms[0]["values"].get(n, "-") for n in names) for _, arms in lines]
    return Table([x] + heads, rows, top)


def _cells(arms, primary, cpu):
    """Figure, change, CPU and interval of an arm, or of several that share a row; empty without one."""
    if not arms:
        return [""] * (4 if cpu else 3)
    return [_middle(arms, primary), _span(arms, primary), *([_middle(arms, "target_cpu")] if cpu else []), _interval(arms, primary)]


def _by_arm(result, folded):
    """A row an arm: the primary metric, what it is against the baseline, and what it costs."""
    primary = result["study"]["primary"]
    names, cells = _labels(result)
    mixed = [(f"{d} p99", metrics.percentile_key(99.0, d)) for d in metrics.DIRECTIONS] if is_mixed(result) else []
    columns = [c for c in (*mixed, ("CPU", "target_cpu"), ("CPU/I/O", "target_us_per_io"), ("QEMU CPU", "qemu_cpu"))
               if any(shape.value(a, c[1]) is not None for a in result["arms"]) and c[1] != primary]
    runs = result["study"].get("repeats", 2) > 1
    head = [*names, headed(metrics.BY_KEY[primary]), "change", _CI, *(["lowest to highest run"] if runs else []), *(c[0] for c in columns)]

    def row(label, arms):
        return [*label, _middle(arms, primary) + ("!" if any(a["marked"] for a in arms) else ""), _span(arms, primary), _interval(arms, primary),
                *([_runs(arms, primary)] if runs else []), *(_middle(arms, key) for _, key in columns)]
    rows = []
    for base in (a for a in result["arms"] if a["baseline"]):
        arms = [a for a in result["arms"] if a["against"] == base["name"] and a is not base]
        same = [a for a in arms if folded and not a.get("no_measurement") and not different(result, a)]
        shown = [base, *(a for a in arms if len(same) < 2 or a not in same)]
        rows += [row(cells[a["name"]], [a]) for a in shown]
        if len(same) > 1:
            rows.append(row([f"{len(same)} others", *[""] * (len(names) - 1)], same))
    at = len(names) + 2
    costs = list(range(len(head) - len(columns), len(head)))[::-1]
    return Table(head, rows, note=_note(rows, any(c[0] == "CPU" for c in columns)), optional=[*([at + 1] if runs else []), *costs[:-1], at, *costs[-1:]])


def _note(rows, cpu):
    """What the signs of ROWS mean."""
    said = {"%": "CPU is the target's, 100 % being one CPU." if cpu else "", "~": "~ is the middle of arms without a difference, which share a row.",
            "!": "! marks arms with disturbed runs."}
    return " ".join(text for sign, text in said.items() if text and any(sign in cell for row in rows for cell in row))


def _runs(arms, key):
    """'99.0k to 101k': the lowest and the highest run of ARMS."""
    entries = [a["metrics"][key] for a in arms if a["metrics"].get(key)]
    if not entries:
        return "-"
    unit = metrics.BY_KEY[key].unit
    low, high = (units.quantity(v, unit) for v in (min(e["min"] for e in entries), max(e["max"] for e in entries)))
    return low if low == high else f"{low} to {high}"


# Heading over the column, heading, metric; latencies come before these.
_COLUMNS = (
    ("target CPU", "user", "target_user"), ("", "sys", "target_system"), ("fio CPU", "user", "fio_user"), ("", "sys", "fio_system"),
    ("QEMU CPU", "all", "qemu_cpu"),
    ("per I/O", "CPU", "target_us_per_io"), ("", "sleeps", "sleeps_per_io"), ("", "kicks", "kicks_per_io"), ("", "calls", "calls_per_io"),
)


# What the published studies of wake-ups compare, for jobs that log their IOPS.
_SAMPLED = (
    ("IOPS, sample by sample", "mean", "sample_mean"), ("", "sd", "sample_sd"), ("", "min", "sample_min"), ("", "max", "sample_max"),
    ("latency", "p1", "lat_p1_us"), ("", "p99.99", "lat_p99.99_us"), ("jobs", "max/min", "job_spread"),
    ("CPU per I/O", "fio", "fio_us_per_io"), ("", "target", "target_us_per_io"),
    ("workers", "no.", "pool_threads"), ("", "CPU", "worker_cpu"), ("", "sleeps/I/O", "worker_sleeps_per_io"),
    ("switches per I/O", "volunt.", "switches_per_io"), ("", "invol.", "involuntary_per_io"),
)


def _labels(result):
    """(headings, {arm's name: cells}) of the first columns: a column a factor, or one for all that is no workload."""
    arms = result["arms"]
    if not shape.patchy(result):
        factors = list(result["study"]["factors"])
        names = factors + [k for k in result["study"].get("baseline") or {} if k not in factors]
        return names, {a["name"]: [a["values"].get(n, "-") for n in names] for a in arms}
    bases = [a["values"] for a in arms if a["baseline"]]
    apart = [k for k in bases[0] if any(b.get(k) != bases[0][k] for b in bases)]
    return ["arm", *apart], {a["name"]: [shape.differs(result, a, apart), *(a["values"].get(k, "-") for k in apart)]
                             for a in arms}


def _latencies(result):
    """Columns as _COLUMNS has them: the latency of all I/Os, and where both reads and writes were done what each kind was like."""
    told = result["study"].get("percentiles") or metrics.USUAL
    out = [("latency", "mean", "lat_mean_us"), *(("", f"p{p:g}", metrics.percentile_key(p)) for p in told)]
    for direction in metrics.DIRECTIONS if is_mixed(result) else ():
        out += [(f"{direction}s", "IOPS", f"iops_{direction}"), ("", "mean", f"lat_{direction}_mean_us"),
                *(("", f"p{p:g}", metrics.percentile_key(p, direction)) for p in told)]
    return out


def is_mixed(result):
    """True where an arm did both reads and writes."""
    return any(all(shape.value(a, f"iops_{d}") is not None for d in metrics.DIRECTIONS) for a in result["arms"])


def _present(result, columns):
    return [c for c in columns if c[2] in metrics.BY_KEY and any(shape.value(a, c[2]) is not None for a in result["arms"])]


def sampled(result):
    """One row an arm: how steady it was, and what it cost; None where no job logged its IOPS."""
    if not any(shape.value(a, "sample_mean") for a in result["arms"]):
        return None
    names, cells = _labels(result)
    present = _present(result, _SAMPLED)
    rows = [cells[arm["name"]] + [figure(arm, c[2]) for c in present] for arm in result["arms"]]
    return Table(names + [c[1] for c in present], rows, [""] * len(names) + [c[0] for c in present])


def full(result, samples=False):
    """One row an arm, the primary metric first; where there is a verdict, that alone has changes. SAMPLES are added to it."""
    primary = result["study"]["primary"]
    names, cells = _labels(result)
    changes = [] if "verdict" in result else ["change"]
    more = ["IOPS"] if primary != "iops" else []
    present = [c for c in _present(result, [*_latencies(result), *_COLUMNS]) if c[2] != primary]
    present += [c for c in _present(result, _SAMPLED) if samples and c[2] not in [p[2] for p in present]]
    metric = metrics.BY_KEY[primary]
    top = [""] * len(names) + [headed(metric), "", *[""] * len(changes + more)] + [c[0] for c in present]
    head = names + ["mean", "lowest to highest", *changes, *more] + [c[1] for c in present]
    rows = []
    for arm in result["arms"]:
        row = [*cells[arm["name"]], figure(arm, primary) + ("!" if arm["marked"] else ""), _runs([arm], primary)]
        row += [_change(arm, primary)] * len(changes) + [figure(arm, "iops")] * len(more)
        rows.append(row + [figure(arm, c[2]) for c in present])
    return Table(head, rows, top)


def _keys(result):
    """All metrics, the primary one first."""
    return [result["study"]["primary"], *(key for key in metrics.BY_KEY if key != result["study"]["primary"])]


def write_csv(result, path):
    """Every metric of every arm: value, min, max, change in %."""
    names = list(dict.fromkeys(k for a in result["arms"] for k in a["values"]))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        head = names + ["baseline", "runs", "marked", "no_measurement"]
        keys = _keys(result)
        for key in keys:
            head += [key, f"{key}_min", f"{key}_max", f"{key}_change_percent"]
        out.writerow(head)
        for arm in result["arms"]:
            row = [arm["values"].get(n, "") for n in names]
            row += [int(arm["baseline"]), arm["runs"], arm["marked"], arm.get("no_measurement", "")]
            for key in keys:
                entry = arm["metrics"].get(key)
                row += ["", "", ""] if entry is None else [f"{entry[k]:.6g}" for k in ("value", "min", "max")]
                change = arm["change"].get(key)
                row.append("" if change is None else f"{change:.4g}")
            out.writerow(row)
