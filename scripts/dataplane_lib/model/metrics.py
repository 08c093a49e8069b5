# SPDX-License-Identifier: GPL-2.0-only
"""The figures a run yields: names, units, which way is better."""

import re
from dataclasses import dataclass

from ..errors import Refused, near


@dataclass(frozen=True)
class Metric:
    """BETTER is +1 where more is better, -1 where less is, 0 where neither."""
    key: str
    label: str
    unit: str
    better: int


# Those that a run yields; want() adds to them. A table has USUAL unless others are asked for.
PERCENTILES = [1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99]
USUAL = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
# The directions of I/O whose figures are also told apart.
DIRECTIONS = ("read", "write")
# A percentile with fewer samples than this above it depends on those few.
FEWEST_BEYOND = 10


def beyond(ios, p):
    """How many of so many I/Os are above the P-th percentile; 100000 have exactly 10 above p99.99."""
    return round(ios * (100 - p) / 100, 6)


def percentile_key(p, direction=""):
    """50.0 -> lat_p50_us, 99.9 -> lat_p99.9_us; of reads lat_read_p99.9_us."""
    return f"lat_{direction + '_' if direction else ''}p{p:g}_us"


def percentile_of(key):
    """(direction, p) of the key of a percentile, ("", 0.0) of any other."""
    match = re.fullmatch(r"lat_(?:(read|write)_)?p([0-9]+(?:\.[0-9]+)?)_us", key)
    return (match[1] or "", float(match[2])) if match and 0 < float(match[2]) < 100 else ("", 0.0)


def _apart(direction):
    """What is told of reads, or writes, alone."""
    which = f"{direction}s"
    return (Metric(f"iops_{direction}", f"IOPS, {which}", "1/s", +1), Metric(f"bw_{direction}_mib", f"bandwidth, {which}", "MiB/s", +1),
            Metric(f"lat_{direction}_mean_us", f"lat mean, {which}", "us", -1))


def _percentile(p, direction=""):
    return Metric(percentile_key(p, direction), f"lat p{p:g}{f', {direction}s' if direction else ''}", "us", -1)


METRICS = (
    Metric("iops", "IOPS", "1/s", +1),
    Metric("bw_mib", "bandwidth", "MiB/s", +1),
    Metric("lat_mean_us", "lat mean", "us", -1),
    *(_percentile(p) for p in PERCENTILES),
    *(metric for d in DIRECTIONS for metric in (*_apart(d), *(_percentile(p, d) for p in PERCENTILES))),
    Metric("target_user", "target user", "% of a CPU", -1),
    Metric("target_system", "target system", "% of a CPU", -1),
    Metric("target_cpu", "target CPU", "% of a CPU", -1),
    Metric("fio_user", "fio user", "% of a CPU", -1),
    Metric("fio_system", "fio system", "% of a CPU", -1),
    Metric("qemu_cpu", "CPU of QEMU, all threads", "% of a CPU", -1),
    Metric("target_us_per_io", "target CPU per I/O", "us", -1),
    Metric("fio_us_per_io", "fio CPU per I/O", "us", -1),
    Metric("cpu_us_per_mib", "CPU of both sides per MiB", "us", -1),
    Metric("worker_cpu", "CPU of the pool's workers", "% of a CPU", -1),
    Metric("sample_mean", "IOPS samples, mean", "1/s", +1),
    Metric("sample_sd", "IOPS samples, standard deviation", "1/s", -1),
    Metric("sample_min", "IOPS samples, lowest", "1/s", +1),
    Metric("sample_max", "IOPS samples, highest", "1/s", +1),
    Metric("job_spread", "fastest job / slowest", "", -1),
    Metric("at_once", "jobs running at once", "", 0),
    Metric("kicks_per_io", "notifications to the target per I/O", "", -1),
    Metric("calls_per_io", "notifications to fio per I/O", "", -1),
    Metric("requests_per_io", "requests at the device per I/O", "", -1),
    Metric("sleeps_per_io", "target sleeps per I/O", "", -1),
    Metric("pool_threads", "threads the pool has had at most", "", 0),
    Metric("worker_sleeps_per_io", "worker sleeps per I/O", "", -1),
    Metric("switches_per_io", "target voluntary switches per I/O", "", -1),
    Metric("involuntary_per_io", "target involuntary switches per I/O", "", -1),
)
BY_KEY = {m.key: m for m in METRICS}


def want(percentiles):
    """Have runs yield PERCENTILES as well."""
    for p in percentiles:
        if p not in PERCENTILES:
            PERCENTILES.append(p)
            PERCENTILES.sort()
            BY_KEY.update({metric.key: metric for metric in (_percentile(p, d) for d in ("", *DIRECTIONS))})


def known(key):
    """Is KEY a metric? Any percentile is, such as lat_p99.5_us."""
    p = percentile_of(key)[1]
    if p:
        want([p])
    return key in BY_KEY


def listed():
    """A line a metric, with its unit, for who asks what may be named."""
    width = max(len(m.key) for m in BY_KEY.values())
    return "\n".join(f"  {m.key:<{width}}  {m.label}{', ' + m.unit if m.unit else ''}" for m in BY_KEY.values()) + "\n  and any other percentile, such as lat_p99.5_us"


def check(key, option):
    """Refuse KEY, given to OPTION, where it is not a metric."""
    if not known(key):
        raise Refused(f"{option}: unknown metric{near(key, BY_KEY)}; accepted: {', '.join(BY_KEY)}")
