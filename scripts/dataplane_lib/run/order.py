# SPDX-License-Identifier: GPL-2.0-only
"""The order of runs: arms interleaved, so that a drifting host cancels out."""

from contextlib import nullcontext
from dataclasses import dataclass


@dataclass
class Slot:
    """One run to do: which arm, which repeat; warm-ups are thrown away."""
    number: int
    arm: object
    repeat: int
    warmup: bool = False

    @property
    def directory(self):
        kind = "warmup" if self.warmup else str(self.repeat)
        return f"{self.number:03d}-{self.arm.slug}-{kind}"


def schedule(arms, repeats, warmup):
    """Slots for REPEATS rounds over ARMS, each round in the other direction.

    Forward and backward rounds (A B C C B A …) give every arm the same mean
    place in time, so that a linear drift adds the same to all of them. WARMUP
    runs come first and go through the arms in order.
    """
    slots = []
    for n in range(warmup):
        slots.append(Slot(len(slots), arms[n % len(arms)], n // len(arms) + 1, True))
    for repeat in range(1, repeats + 1):
        for arm in arms if repeat % 2 else reversed(arms):
            slots.append(Slot(len(slots), arm, repeat))
    return slots


class Course:
    """The runs of a session, one after another; here all are known at the start.

    EXPECTED is how many there will be, as far as is known; SLOTS(result, meta) gives the next one when the one before
    is done, and may look at it; AROUND(slot) is a context in which it is run. PAUSE seconds pass before each; there may be
    MORE runs than expected.
    """
    pause, more = 0.0, False

    def __init__(self, slots):
        self._slots = slots
        self.expected = len(slots)

    def slots(self, _result, _meta):
        return iter(self._slots)

    def around(self, _slot):
        return nullcontext()
