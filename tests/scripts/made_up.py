# SPDX-License-Identifier: GPL-2.0-only
"""Whole results that nobody measured, written as a study would have left them: no test itself."""

import json
import random
from pathlib import Path

RUNTIME_S = 2.0
_JOB = "[global]\nlat_percentiles=1\n[j]\n"


def arms(*values):
    """Arms of the given {factor: value}, compared with the first."""
    names = [" ".join(f"{k}={v}" for k, v in each.items()) for each in values]
    return [{"name": n, "values": v, "baseline": n == names[0], "against": names[0]} for n, v in zip(names, values)]


def write(place, found, latency, runs=3, cpu=None, ios=20000, jobs=1, logs="", title="made up", rtt=100, **study):
    """A result in the directory PLACE, of the arms FOUND.

    LATENCY(arm's number) is its median in us, CPU(number) the target's % of a CPU, IOS the I/Os of a job, one of
    5000 of them slow. LOGS may be 'hist', 'lat' (an I/O a line) or 'mean'.
    """
    place, rng = Path(place), random.Random(1)
    (place / "raw").mkdir(parents=True)
    (place / "job.fio").write_text(_JOB)
    factors = {k: list(dict.fromkeys(a["values"][k] for a in found if k in a["values"])) for a in found for k in a["values"]}
    meta = {"status": "complete", "command": "dataplane sweep job.fio --vary …", "started": "2026-01-02 03:04:05", "has_target": cpu is not None,
            "took_s": 60.0, "steal_percent": 0.0, "cpus": {"fio": 0, "target": 1, "pinned": True, "note": ""}, "arms": found,
            "host": {"CPU": "one that nobody has", "kernel": "Linux 0.0", "fio": "fio-0.0", "fio-dataplane": "0000000"},
            "study": {"name": "made-up", "title": title, "question": "What does a page look like?", "look_for": "", "effect": "",
                      "primary": "iops", "warmup": 0, "repeats": runs, "runtime": RUNTIME_S, "ramp": 0.0, "program": "vhost-user-blk-target",
                      "options": [], "command": None, "variables": {}, "factors": factors, "baseline": None, "job": "job.fio", **study}}
    (place / "meta.json").write_text(json.dumps(meta))
    number = 0
    for repeat in range(1, runs + 1):
        for i, arm in enumerate(found):
            slug = "".join(c if c.isalnum() else "-" for c in arm["name"])[:60]
            directory = place / "raw" / f"{number:03d}-{slug}-{repeat}"
            directory.mkdir()
            usual = latency(i) * rng.uniform(0.98, 1.02)
            record = {"number": number, "arm": arm["name"], "values": arm["values"], "repeat": repeat, "warmup": False, "status": "complete",
                      "rtt": {"before": rtt, "after": rtt * (2 if number % 7 == 6 else 1)}}
            if cpu is not None:
                record |= {"target": "target", "clock_offset_s": 1e9}
                (directory / "cpu.json").write_text(json.dumps(_samples(cpu(i))))
            (directory / "run.json").write_text(json.dumps(record))
            every = [_histogram(usual, ios, rng) for _ in range(jobs)]
            (directory / "fio.json").write_text(json.dumps(_fio(every, usual)))
            for n, histogram in enumerate(every, 1):
                _log(directory, n, logs, histogram)
            number += 1
    return place


def _histogram(usual, ios, rng):
    """{ns: I/Os} around USUAL us."""
    out = {}
    for step in range(-8, 9):
        out[int(usual * 1000 * (1 + step / 50))] = int(ios / 17 * rng.uniform(0.9, 1.1))
    out[int(usual * 1000 * rng.uniform(4, 6))] = ios // 200
    out[int(usual * 1000 * rng.uniform(30, 60))] = ios // 5000
    return {k: v for k, v in out.items() if v}


def _fio(every, usual):
    jobs = []
    for n, histogram in enumerate(every):
        count = sum(histogram.values())
        part = {"total_ios": count, "iops": 1e6 / usual, "bw_bytes": 4096e6 / usual, "drop_ios": 0,
                "lat_ns": {"N": count, "mean": usual * 1000, "bins": {str(k): v for k, v in histogram.items()}}}
        jobs.append({"jobname": f"j{n}", "error": 0, "job_runtime": int(RUNTIME_S * 1000), "usr_cpu": 10.0, "sys_cpu": 5.0,
                     "read": part, "write": {"total_ios": 0}, "trim": {"total_ios": 0}})
    return {"timestamp_ms": int((1e9 + 100 + RUNTIME_S) * 1000), "jobs": jobs}


def _samples(percent):
    """cpu.json of one thread that uses PERCENT of a CPU."""
    out = []
    for n in range(21):
        used = n * RUNTIME_S / 20 * percent / 100
        ticks = [int(100 * v) for v in (used, 0, 0, n * RUNTIME_S / 20 - used, 0, 0, 0, 0)]
        out.append({"t": 100 + n * RUNTIME_S / 20, "threads": {"7": ["iothread0", int(used * 1e9), used * 0.7, used * 0.3]},
                    "cpus": {"0": [0, 0, 0, n, 0, 0, 0, 0], "1": ticks}})
    return out


def _log(directory, n, kind, histogram):
    """A log of job N: the I/Os of HISTOGRAM spread over the run."""
    every = [ns for ns, count in histogram.items() for _ in range(count)]
    random.Random(n).shuffle(every)
    if kind == "lat":
        lines = [f"{1000 + int(2000 * k / len(every))}, {ns}, 0, 4096, 0" for k, ns in enumerate(every)]
        (directory / f"job_lat.{n}.log").write_text("\n".join(lines) + "\n")
    elif kind:
        windows = [every[k::20] for k in range(20)]
        lines = []
        for k, window in enumerate(windows, 1):
            if kind == "mean":
                lines.append(f"{k * 100}, {sum(window) // len(window)}, 0, 0, 0")
                continue
            counts = [0] * 1856
            for ns in window:
                counts[bin_of(ns)] += 1
            lines.append(f"{k * 100}, 0, 4096, " + ", ".join(map(str, counts)))
        (directory / f"job_{'lat' if kind == 'mean' else 'clat_hist'}.{n}.log").write_text("\n".join(lines) + "\n")


def bin_of(ns):
    """fio's bin (stat.c, plat_val_to_idx())."""
    msb = max(ns, 1).bit_length() - 1
    if msb <= 6:
        return ns
    error = msb - 6
    return (error + 1) * 64 + ((ns >> error) - 64)
