# SPDX-License-Identifier: GPL-2.0-only
"""The order of runs: rounds over all arms, the order within each drawn anew, so that nothing periodic can meet one arm only."""

import random
from contextlib import nullcontext
from dataclasses import dataclass

from ..model.study import ORIGINAL, ORIGINAL_RUNS


@dataclass
class Slot:
    """One run to do: which arm, which repeat; PLACE counts from 1 within its round. Warm-ups are thrown away."""
    number: int
    arm: object
    repeat: int
    warmup: bool = False
    place: int = 0

    @property
    def directory(self):
        kind = "warmup" if self.warmup else str(self.repeat)
        return f"{self.number:03d}-{self.arm.slug}-{kind}"


class Order:
    """Orders drawn from SEED, the same for the same seed.

    A fixed order such as A B B A cancels a steady drift, but whatever disturbs every fourth run meets one arm only.
    Drawn anew for each round, and with a coin for each pair, the order is independent of anything that happens on the machine, which is
    what the tests assume (Fisher 1935, "The Design of Experiments", II).
    """

    def __init__(self, seed):
        self._random = random.Random(seed)

    def round(self, arms):
        """ARMS in a new order; those compared with the same baseline stay next to each other, so that what drifts is in all of them."""
        groups = {}
        for arm in arms:
            groups.setdefault(arm.against, []).append(arm)
        blocks = [self._random.sample(group, len(group)) for group in self._random.sample(list(groups.values()), len(groups))]
        return [arm for block in blocks for arm in block]


def schedule(arms, repeats, warmup, seed):
    """Slots for REPEATS rounds over ARMS, the order within each drawn from SEED; WARMUP runs come first and go through the arms in turn."""
    drawn, slots = Order(seed), []
    for n in range(warmup):
        slots.append(Slot(len(slots), arms[n % len(arms)], n // len(arms) + 1, True, n % len(arms) + 1))
    for repeat in range(1, repeats + 1):
        for place, arm in enumerate(drawn.round(arms), 1):
            slots.append(Slot(len(slots), arm, repeat, False, place))
    return slots


class Course:
    """The runs of a session, one after another; here all are known at the start.

    EXPECTED is how many there will be, as far as is known; SLOTS(result, meta) gives the next one when the one before
    is done, and may look at it; AROUND(slot) is a context in which it is run. PAUSE seconds pass before each; there may be
    MORE runs than expected. NOTE is for whoever watches, before the next run.
    """
    pause, more, note = 0.0, False, ""

    def __init__(self, slots):
        self._slots = slots
        self.expected = len(slots)

    def slots(self, _result, _meta):
        return iter(self._slots)

    def around(self, _slot):
        return nullcontext()


class Original(Course):
    """Three runs of an arm after each other, then three of the other: a drift of the host is in the difference."""

    def __init__(self, arms):
        made = [(arm, n) for arm in arms for n in range(ORIGINAL_RUNS)]
        super().__init__([Slot(i, arm, max(n, 1), n == 0) for i, (arm, n) in enumerate(made)])

    def slots(self, result, meta):
        meta["matrix"] = {"protocol": ORIGINAL}
        return super().slots(result, meta)
