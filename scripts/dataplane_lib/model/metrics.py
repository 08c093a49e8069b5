# SPDX-License-Identifier: GPL-2.0-only
"""The figures a run yields: names, units, which way is better."""

from dataclasses import dataclass

from ..errors import Refused, near


@dataclass(frozen=True)
class Metric:
    """BETTER is +1 where more is better, -1 where less is, 0 where neither."""
    key: str
    label: str
    unit: str
    better: int


PERCENTILES = (1.0, 50.0, 99.0, 99.9, 99.99)
# A percentile that fewer I/Os than this lie beyond is the story of those few.
FEWEST_BEYOND = 10


def beyond(ios, p):
    """How many of so many I/Os lie beyond the P-th percentile; 100000 have 10 beyond p99.99, not a hair less."""
    return round(ios * (100 - p) / 100, 6)


def percentile_key(p):
    """50.0 -> lat_p50_us, 99.9 -> lat_p99.9_us."""
    return f"lat_p{p:g}_us"


def is_tail(key):
    """True for the key of a percentile above the median."""
    return any(key == percentile_key(p) for p in PERCENTILES if p > 50)


METRICS = (
    Metric("iops", "IOPS", "1/s", +1),
    Metric("bw_mib", "bandwidth", "MiB/s", +1),
    Metric("lat_mean_us", "lat mean", "us", -1),
    *(Metric(percentile_key(p), f"lat p{p:g}", "us", -1) for p in PERCENTILES),
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


def listed():
    """A line a metric, with its unit, for who asks what may be named."""
    width = max(len(m.key) for m in METRICS)
    return "\n".join(f"  {m.key:<{width}}  {m.label}{', ' + m.unit if m.unit else ''}" for m in METRICS)


def check(key, option):
    """Refuse KEY, given to OPTION, where it is not a metric."""
    if key not in BY_KEY:
        raise Refused(f"{option}: unknown metric{near(key, BY_KEY)}; accepted: {', '.join(BY_KEY)}")
