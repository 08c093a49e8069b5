# SPDX-License-Identifier: GPL-2.0-only
"""The policies' own code, run over waits: tools/poll-replay."""

import subprocess
from dataclasses import dataclass

from .. import paths
from ..errors import RunFailed


@dataclass
class Outcome:
    """Of the waits of a policy: the shares that polling covered, that began with a nap, that ended with a wake-up; ns polled a wait."""
    covered: float
    naps: float
    sleeps: float
    polled: float


def replay(counts, candidates, wakeup):
    """An Outcome for each of CANDIDATES, [(policy, window in ns)]; COUNTS as in judge.advise.Waits, WAKEUP in ns."""
    argv = [str(paths.built("tools", "poll-replay")), "--wakeup", f"{wakeup:.0f}ns", *(f"{name}:{window}" for name, window in candidates)]
    text = "".join(f"{kind} {lo} {hi} {n}\n" for (kind, lo, hi), n in sorted(counts.items()))
    done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RunFailed(f"{argv[0]}: {done.stderr.strip() or f'exit {done.returncode}'}")
    return [Outcome(*map(float, line.split()[2:])) for line in done.stdout.splitlines()]
