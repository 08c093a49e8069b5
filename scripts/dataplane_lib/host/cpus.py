# SPDX-License-Identifier: GPL-2.0-only
"""Which CPU fio's job gets and which the target."""

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import Refused

_SYS = Path("/sys/devices/system/cpu")


@dataclass
class Pinning:
    """CPU numbers, None where there is only one; REST is for all other threads.

    Where WANTED is false nothing is pinned to them, only the distance between them is measured.
    """
    fio: int | None
    target: int | None
    rest: set
    note: str = ""
    wanted: bool = True

    @property
    def pinned(self):
        return self.wanted and self.fio is not None

    @property
    def pair(self):
        return f"{self.fio},{self.target}"


def parse_list(text):
    """{0, 2, 3} from the kernel's '0,2-3'."""
    out = set()
    for part in text.strip().split(","):
        if part:
            low, _, high = part.partition("-")
            out.update(range(int(low), int(high or low) + 1))
    return out


def siblings(cpu):
    """The hardware threads of CPU's core, CPU included."""
    try:
        return parse_list((_SYS / f"cpu{cpu}/topology/thread_siblings_list").read_text())
    except (OSError, ValueError):
        return {cpu}


def package(cpu):
    """CPU's socket, -1 if unknown."""
    try:
        return int((_SYS / f"cpu{cpu}/topology/physical_package_id").read_text())
    except (OSError, ValueError):
        return -1


def choose(wanted=None, allowed=None, siblings_of=siblings, package_of=package):
    """Pick the two CPUs.

    WANTED is '--cpus FIO,TARGET' or None. Otherwise the two highest allowed
    CPUs that share a socket but no core: low numbers get the interrupts.
    """
    allowed = set(os.sched_getaffinity(0)) if allowed is None else set(allowed)
    if wanted:
        parts = wanted.split(",")
        if len(parts) != 2 or not all(p.isdigit() for p in parts) or parts[0] == parts[1]:
            raise Refused(f"--cpus {wanted}: expected two different CPU numbers, FIO,TARGET, or none")
        pair = [int(p) for p in parts]
        for cpu in pair:
            if cpu not in allowed:
                raise Refused(f"--cpus {wanted}: CPU {cpu} is not available; allowed: "
                              + ",".join(map(str, sorted(allowed))))
        return Pinning(pair[0], pair[1], allowed - set(pair))
    order = sorted(allowed, reverse=True)
    if len(order) < 2:
        return Pinning(None, None, allowed,
                       "only one CPU is available: nothing was pinned, both sides share it")
    pairs = [(a, b) for i, b in enumerate(order) for a in order[i + 1:]]
    apart = [(a, b) for a, b in pairs if b not in siblings_of(a)]
    near = [(a, b) for a, b in apart if package_of(a) == package_of(b)]
    fio, target = (near or apart or pairs)[0]
    note = "" if apart else f"CPUs {fio} and {target} are hardware threads of one core"
    return Pinning(fio, target, allowed - {fio, target}, note)
