# SPDX-License-Identifier: GPL-2.0-only
"""The cache-line round trip between the two pinned CPUs."""

import json
import statistics
import subprocess

from .. import paths
from ..errors import RunFailed

# Beyond this ratio two figures are not the same distance between cores.
CHANGED = 1.3


def measure(pinning):
    """Round trip in ns between the two CPUs, None where there is but one."""
    if pinning.fio is None:
        return None
    argv = [str(paths.built("tools", "rtt")), "--cpus", pinning.pair, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    try:
        if done.returncode:
            raise ValueError(f"exit {done.returncode}")
        return float(json.loads(done.stdout)["rtt_ns"])
    except (ValueError, KeyError, TypeError) as err:
        said = done.stderr.strip().splitlines()
        raise RunFailed(f"{' '.join(argv)}: {err} {said[0] if said else ''}".strip()) from None


def marks(before, after, usual):
    """What is wrong with a run's distance: a list of words, empty if nothing."""
    if before is None or after is None:
        return []
    out = []
    low, high = sorted((before, after))
    if high > CHANGED * low:
        out.append(f"round trip changed during the run ({before:.0f} to {after:.0f} ns)")
    mean = (before + after) / 2
    if usual and not usual / CHANGED <= mean <= usual * CHANGED:
        out.append(f"round trip {mean:.0f} ns, the study's median is {usual:.0f} ns")
    return out


def usual(runs):
    """The median round trip of RUNS, each with 'rtt' before and after."""
    found = [r["rtt"][k] for r in runs for k in ("before", "after")
             if r["rtt"][k] is not None]
    return statistics.median(found) if found else None
