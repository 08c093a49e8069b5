# SPDX-License-Identifier: GPL-2.0-only
"""How far apart the two pinned CPUs are: the cache-line round trip, and what waking a thread takes."""

import json
import statistics
import subprocess

from .. import paths
from ..errors import RunFailed

# Beyond this ratio two figures are not the same distance between cores.
CHANGED = 1.3

# Seconds that a tool may take; it needs a fraction of one on CPUs that nothing else runs on.
TOOL_S = 30


def measure(pinning):
    """Round trip in ns between the two CPUs, None where there is but one."""
    return None if pinning.fio is None else of_tool("rtt", "rtt_ns", pinning)


def of_tool(name, key, pinning, *options):
    """What the tool NAME says of KEY for the two CPUs, in ns."""
    argv = [str(paths.built("tools", name)), "--cpus", pinning.pair, "--json", *options]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TOOL_S, check=False)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"{' '.join(argv)}: no result within {TOOL_S} s: other programs keep these CPUs busy") from None
    try:
        if done.returncode:
            raise ValueError(f"exit {done.returncode}")
        return float(json.loads(done.stdout)[key])
    except (ValueError, KeyError, TypeError) as err:
        said = done.stderr.strip().splitlines()
        raise RunFailed(f"{' '.join(argv)}: {err} {said[0] if said else ''}".strip()) from None


def wakeup(pinning):
    """ns until a thread that sleeps for a message runs on the other CPU, beyond what the message itself takes."""
    asleep, awake = (of_tool("socket-pingpong", "fastest_ns", pinning, "--request", "8", "--reply", "8", *more) for more in (["--sleep"], []))
    if asleep < 1.2 * awake:
        raise RunFailed(f"a wake-up cannot be measured while others use the CPUs: {asleep:.0f} ns a message with one, {awake:.0f} ns without; give --wakeup TIME")
    return (asleep - awake) / 2


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
