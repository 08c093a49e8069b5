# SPDX-License-Identifier: GPL-2.0-only
"""The runs of an A/B comparison: pairs in an order that a coin decides, until there are enough, each arm in its own state."""

import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

from ..model.run import left_out
from ..read import raw, store
from ..stats import ranks, stopping
from ..errors import NotMeasured, RunFailed
from .order import Course, Order, Slot


@dataclass
class Plan:
    """How many PAIRS; or, where UNTIL is a stopping.Rule, until that has decided, for BUDGET seconds at most.

    WARMUP runs of each arm come first and do not count; COOL_DOWN seconds pass before every run. The order of each pair
    is drawn from SEED. LIMITS are those of --fail-if.
    """
    pairs: int
    until: stopping.Rule | None
    budget: float
    warmup: int
    cool_down: float
    primary: str
    seed: int = 0
    limits: tuple = ()

    @property
    def level(self):
        """What confidence the intervals need."""
        return self.until.level if self.until else ranks.LEVEL


class Pairs(Course):
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
        runs, pairs, target = {arm.name: [] for arm in self.arms}, 0, self.plan.pairs
        while True:
            for _ in range(2):
                pairs += 1
                for slot in self._pair(pairs, False):
                    yield slot
                    run = load_run(result / "raw" / slot.directory, meta["cpus"])
                    for key in self._keys():
                        if run.metrics[key] is None:
                            raise RunFailed(f"{slot.arm.name}, run {slot.number}: gives no figure for {key}")
                    runs[slot.arm.name].append(run)
            meta["study"]["repeats"] = pairs
            if pairs >= target:
                target, why = self._more(list(runs.values()), pairs, time.monotonic() - start)
                if not target:
                    meta["ab"]["stopped"] = why
                    return
                self.expected = 2 * (self.plan.warmup + target)

    def _pair(self, repeat, warmup):
        for place, arm in enumerate(self._order.round(self.arms), 1):
            time.sleep(self.plan.cool_down if self._number else 0)
            yield Slot(self._number, arm, repeat, warmup, place)
            self._number += 1

    def _keys(self):
        """The metrics that every run has to have."""
        return {self.plan.primary, *(one.key for one in self.plan.limits)}

    def _more(self, runs, pairs, took):
        """(how many pairs to go on to, 0 to stop; why it stopped)."""
        a, b = runs
        left = set(left_out(a, b))
        usable = pairs - len(left)
        if self.plan.until is None:
            # Pairs that cannot be compared are made up for, within reason.
            done = usable >= self.plan.pairs or 2 * pairs >= 3 * self.plan.pairs
            return (0 if done else pairs + 2), ""
        if usable:
            near = {key: [[r.metrics[key] for i, r in enumerate(arm, 1) if i not in left] for arm in (a, b)] for key in self._keys()}
            why = (self.plan.until.settled(near) if self.plan.until.limits else
                   self.plan.until.decided(ranks.paired(*near[self.plan.primary], self.plan.level)))
            if why:
                return 0, f"stopped after {pairs} pairs: {why}"
        target = stopping.next_look(pairs) if self.plan.until.precision is None else pairs + 2
        if took + (target - pairs) * took / (pairs + self.plan.warmup) > self.plan.budget:
            return 0, f"undecided when the budget was spent, after {pairs} pairs"
        return target, ""

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
