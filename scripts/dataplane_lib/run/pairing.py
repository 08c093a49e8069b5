# SPDX-License-Identifier: GPL-2.0-only
"""The runs of an A/B comparison: pairs in an order that a coin decides, until there are enough, each arm in its own state."""

import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

from ..judge import verdict
from ..read import raw, store
from ..stats import ranks
from ..errors import NotMeasured, RunFailed
from .order import Order, Slot


@dataclass
class Plan:
    """How many PAIRS; UNTIL the primary metric's interval is so narrow (%, or None), at most for BUDGET seconds.

    WARMUP runs of each arm come first and do not count; COOL_DOWN seconds pass before every run. The order of each pair
    is drawn from SEED.
    """
    pairs: int
    until: float | None
    budget: float
    warmup: int
    cool_down: float
    primary: str
    seed: int = 0

    @property
    def level(self):
        """What confidence the intervals need, see ranks.LEVEL_UNTIL."""
        return ranks.LEVEL_UNTIL if self.until else ranks.LEVEL


class Pairs:
    """A plan.Course of pairs of runs.

    SET_ARM is {arm name: shell command that sets what only that arm has}, RESTORE undoes it after
    every run of such an arm, however that run ended.
    """

    def __init__(self, arms, plan, set_arm, restore, about):
        self.arms = arms
        self.plan = plan
        self.set_arm = set_arm
        self.restore = restore
        self.about = about
        self.expected = 2 * (plan.warmup + plan.pairs)
        self.pause, self.more = plan.cool_down, bool(plan.until)
        self._number = 0
        self._order = Order(plan.seed)

    def slots(self, result, meta):
        """Every run in its order; META learns how many pairs it became."""
        meta["ab"] = {**self.about, "level": self.plan.level}
        start = time.monotonic()
        for n in range(self.plan.warmup):
            yield from self._pair(n + 1, True)
        runs, pairs = {arm.name: [] for arm in self.arms}, 0
        while True:
            for _ in range(2):
                pairs += 1
                for slot in self._pair(pairs, False):
                    yield slot
                    run = load_run(result / "raw" / slot.directory, meta["cpus"])
                    if run.metrics[self.plan.primary] is None:
                        raise RunFailed(f"{slot.arm.name}, run {slot.number}: gives no figure for {self.plan.primary}")
                    runs[slot.arm.name].append(run)
            meta["study"]["repeats"] = pairs
            if pairs >= self.plan.pairs:
                more, why = self._more(list(runs.values()), pairs, time.monotonic() - start)
                if not more:
                    meta["ab"]["stopped"] = why
                    return
                self.expected = 2 * (self.plan.warmup + pairs + 2)

    def _pair(self, repeat, warmup):
        for place, arm in enumerate(self._order.round(self.arms), 1):
            time.sleep(self.plan.cool_down if self._number else 0)
            yield Slot(self._number, arm, repeat, warmup, place)
            self._number += 1

    def _more(self, runs, pairs, took):
        """(are two more pairs wanted, why not)."""
        a, b = runs
        usable = pairs - len(verdict.left_out(a, b))
        if self.plan.until is None:
            # Pairs that cannot be compared are made up for, within reason.
            if usable >= self.plan.pairs or 2 * pairs >= 3 * self.plan.pairs:
                return False, ""
            return True, ""
        found = verdict.of_pairs(a, b, self.plan.primary, self.plan.level).primary.found
        if ranks.narrow_enough(found, self.plan.until):
            return False, f"the interval is {found.width:.2g} % wide after {pairs} pairs: narrower than {self.plan.until:g} %"
        each = took / (pairs + self.plan.warmup)
        if took + 2 * each > self.plan.budget:
            return False, (f"the budget is spent after {pairs} pairs, and the interval is "
                           + (f"{found.width:.2g} % wide, not {self.plan.until:g} %" if found.kind == "ratio" and found.enough
                              else "not known"))
        return True, ""

    @contextmanager
    def around(self, slot):
        """The arm's own state, set before its run and restored after it."""
        command = self.set_arm.get(slot.arm.name)
        if command is None:
            yield
            return
        try:
            _shell(command, "--set")
            yield
        finally:
            if self.restore:
                _undisturbed(self.restore)


def _shell(command, what):
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, start_new_session=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise RunFailed(f"{what} '{command}': exit status {done.returncode}" + (f": {said[-1]}" if said else ""))


def _undisturbed(command):
    """Run --restore to its end, though somebody presses ^C again meanwhile."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(n, signal.SIG_IGN) for n in numbers]
    try:
        _shell(command, "--restore")
    except RunFailed as err:
        raise NotMeasured(f"{err}: the machine is not as it was") from None
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def load_run(directory, cpus):
    """The store.Run of DIRECTORY under raw/, whose study goes on."""
    return store.Run(raw.facts(directory), cpus)
