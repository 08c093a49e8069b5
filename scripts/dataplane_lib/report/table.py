# SPDX-License-Identifier: GPL-2.0-only
"""The tables: headings and rows once, printed to a terminal or as CSV."""

import csv

from .. import units
from ..model import guest_arm, metrics, shape


# With more series than this each gets one column, and what it costs is in the table of everything.
_WIDE = 4


def side_by_side(result):
    """The primary metric along x, the series beside each other: (top, head, rows).

    None where the study has no numeric factor to go along.
    """
    x = shape.along(result)
    if not x:
        return None
    primary = result["study"]["primary"]
    label = metrics.BY_KEY[primary].label
    lines = shape.series(result)
    if len(lines) > _WIDE:
        return _matrix(result, x, lines, primary)
    cpu = any(shape.value(a, "target_cpu") is not None for a in result["arms"])
    top, head = [""], [x]
    for name, _ in lines:
        top += [name, ""] + ([""] if cpu else [])
        head += [label, "change"] + (["CPU us+sy %"] if cpu else [])
    rows = []
    outside = shape.outside(result)
    if outside:
        row = [shape.label(result["study"]["baseline"])]
        for _, arms in lines:
            base = shape.base(result, arms[0])
            row += _cells(base if base in outside else None, primary, cpu)
        rows.append(row)
    for value in sorted(result["study"]["factors"][x], key=units.number):
        row = [value]
        for _, arms in lines:
            row += _cells(next((a for a in arms if a["values"][x] == value), None), primary, cpu)
        rows.append(row)
    return top, head, rows


def _matrix(result, x, lines, primary):
    """One figure a cell: x down, a column a series."""
    names = [k for k in result["study"]["factors"] if k != x]
    top = ["", f"{metrics.BY_KEY[primary].label} by {', '.join(names)}"] + [""] * (len(lines) - 1)
    rows = []
    for value in sorted(result["study"]["factors"][x], key=units.number):
        found = (next((a for a in arms if a["values"][x] == value), None) for _, arms in lines)
        rows.append([value] + ["" if a is None else _figure(a, primary) for a in found])
    heads = [", ".join(arms[0]["values"].get(n, "-") for n in names) for _, arms in lines]
    return top, [x] + heads, rows


def _cells(arm, primary, cpu):
    """Figure, change and CPU of one arm, empty without one."""
    if arm is None:
        return [""] * (3 if cpu else 2)
    out = [_figure(arm, primary), _change(arm, primary)]
    if cpu:
        user, system = shape.value(arm, "target_user"), shape.value(arm, "target_system")
        out.append("-" if user is None else f"{user:.0f}+{system:.0f}")
    return out


def _figure(arm, key):
    """An arm's figure, in parentheses where it is no measurement."""
    text = units.short(shape.value(arm, key))
    return f"({text})" if arm.get("no_measurement") else text


def _change(arm, key):
    """The change against the baseline, or why there is none."""
    if arm.get("no_measurement"):
        return guest_arm.NO_MEASUREMENT
    return "baseline" if arm["baseline"] else units.percent(arm["change"].get(key))


# Heading over the column, heading, metric, digits.
_COLUMNS = (
    ("latency us", "mean", "lat_mean_us", 3),
    ("", "p50", "lat_p50_us", 3),
    ("", "p99", "lat_p99_us", 3),
    ("", "p99.9", "lat_p99.9_us", 3),
    ("", "p99.99", "lat_p99.99_us", 3),
    ("target %", "user", "target_user", 2),
    ("", "sys", "target_system", 2),
    ("fio %", "user", "fio_user", 2),
    ("", "sys", "fio_system", 2),
    ("QEMU %", "all", "qemu_cpu", 2),
    ("per I/O", "us", "target_us_per_io", 3),
    ("", "sleep", "sleeps_per_io", 2),
    ("per s", "kicks", "kicks_per_s", 3),
    ("", "calls", "calls_per_s", 3),
)


# What the published studies of wake-ups tell, for jobs that log their IOPS.
_SAMPLED = (
    ("IOPS, sample by sample", "mean", "sample_mean", 3),
    ("", "sd", "sample_sd", 3),
    ("", "min", "sample_min", 3),
    ("", "max", "sample_max", 3),
    ("lat us", "p1", "lat_p1_us", 3),
    ("", "p99.99", "lat_p99.99_us", 3),
    ("jobs", "max/min", "job_spread", 3),
    ("CPU us per I/O", "fio", "fio_us_per_io", 3),
    ("", "target", "target_us_per_io", 3),
    ("workers", "no.", "pool_threads", 3),
    ("", "CPU %", "worker_cpu", 3),
    ("", "sleep/IO", "worker_sleeps_per_io", 3),
    ("switches per I/O", "volunt.", "switches_per_io", 3),
    ("", "invol.", "involuntary_per_io", 3),
)


def _labels(result):
    """(headings, {arm's name: cells}) of the first columns: a column a factor, or one for all that is no workload."""
    arms = result["arms"]
    if not shape.patchy(result):
        factors = list(result["study"]["factors"])
        names = factors + [k for k in result["study"]["baseline"] or {} if k not in factors]
        return names, {a["name"]: [a["values"].get(n, "-") for n in names] for a in arms}
    bases = [a["values"] for a in arms if a["baseline"]]
    apart = [k for k in bases[0] if any(b.get(k) != bases[0][k] for b in bases)]
    return ["arm", *apart], {a["name"]: [shape.differs(result, a, apart), *(a["values"].get(k, "-") for k in apart)]
                             for a in arms}


def sampled(result):
    """One row an arm: how steady it was, and what it cost; None where no job logged its IOPS."""
    if not any(shape.value(a, "sample_mean") for a in result["arms"]):
        return None
    names, cells = _labels(result)
    present = [c for c in _SAMPLED if any(shape.value(a, c[2]) is not None for a in result["arms"])]
    rows = [cells[arm["name"]] + [units.short(shape.value(arm, c[2]), c[3]) for c in present]
            for arm in result["arms"]]
    return [""] * len(names) + [c[0] for c in present], names + [c[1] for c in present], rows


def full(result):
    """One row an arm: (heads over heads, heads, rows); where there is a verdict, that alone tells changes."""
    names, cells = _labels(result)
    told = [] if "verdict" in result else ["change"]
    present = [c for c in _COLUMNS
               if any(shape.value(a, c[2]) is not None for a in result["arms"])]
    top = [""] * len(names) + ["IOPS", "", *[""] * len(told)] + [c[0] for c in present]
    head = names + ["median", "min..max", *told] + [c[1] for c in present]
    rows = []
    for arm in result["arms"]:
        iops = arm["metrics"]["iops"]
        row = list(cells[arm["name"]])
        row += [_figure(arm, "iops") + ("!" if arm["marked"] else ""),
                f"{units.short(iops['min'])}..{units.short(iops['max'])}", *([_change(arm, "iops")] if told else [])]
        row += [units.short(shape.value(arm, c[2]), c[3]) for c in present]
        rows.append(row)
    return top, head, rows


def aligned(heads, rows):
    """Lines of text; words to the left, numbers to the right."""
    everything = heads + rows
    widths = [max(len(str(r[i])) for r in heads[-1:] + rows) for i in range(len(rows[0]))]
    left = [units.number(rows[-1][i]) is None and rows[-1][i][:1].isalpha()
            for i in range(len(rows[0]))]
    out = []
    for row in everything:
        out.append(" ".join(_cell(str(c), widths[i], left[i]) for i, c in enumerate(row)).rstrip())
    return [_heads(h, widths) for h in heads[:-1]] + out[len(heads) - 1:]


def _cell(text, width, left):
    return text.ljust(width) if left else text.rjust(width)


def _heads(row, widths):
    """A heading over several columns: it may run into the empty cells after it."""
    line = ""
    place = 0
    for text, width in zip(row, widths):
        if text:
            line = (line + " ").ljust(place) + text if line else " " * place + text
        place += width + 1
    return line


def told(result):
    """What the terminal shows of a study that is told in a way of its own."""
    out = []
    for one in result["told"]["tables"]:
        out += [one["title"], *aligned([one["top"], one["head"]], one["rows"]), "", *([one["note"], ""] if one["note"] else [])]
    return out + [f"* {text}" for text in result["told"]["sentences"]]


def terminal(result):
    """What the terminal shows."""
    out = []
    both = side_by_side(result)
    if both:
        top, head, rows = both
        out += aligned([top, head], rows) + [""]
    top, head, rows = full(result)
    out += aligned([top, head], rows)
    steady = sampled(result)
    if steady:
        out += ["", *aligned(list(steady[:2]), steady[2])]
    return out


def write_csv(result, path):
    """Every metric of every arm: value, min, max, change in %."""
    names = list(dict.fromkeys(k for a in result["arms"] for k in a["values"]))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        head = names + ["baseline", "runs", "marked", "no_measurement"]
        for key in metrics.BY_KEY:
            head += [key, f"{key}_min", f"{key}_max", f"{key}_change_percent"]
        out.writerow(head)
        for arm in result["arms"]:
            row = [arm["values"].get(n, "") for n in names]
            row += [int(arm["baseline"]), arm["runs"], arm["marked"], arm.get("no_measurement", "")]
            for key in metrics.BY_KEY:
                entry = arm["metrics"].get(key)
                row += ["", "", ""] if entry is None else [f"{entry[k]:.6g}" for k in ("value", "min", "max")]
                change = arm["change"].get(key)
                row.append("" if change is None else f"{change:.4g}")
            out.writerow(row)
