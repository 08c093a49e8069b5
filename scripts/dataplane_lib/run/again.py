# SPDX-License-Identifier: GPL-2.0-only
"""The rounds of a study, and after them once more the runs of arms that were unsteady."""

import math

from .. import units
from ..model import metrics
from ..read import raw, store
from ..stats import grid
from .order import Course, Order, Slot, schedule


class Rounds(Course):
    """All rounds over ARMS as STUDY has them; then as many rounds again of the arms whose runs differ far beyond those of the others.

    The second runs of such an arm take the place of its first ones, whatever they are: chosen for the spread of the first, and never
    made a third time, they are as good as any. What it is compared with runs beside it, and is compared by the rounds that both have: the
    machine's level may have moved since the first ones. An unsteady baseline thus takes all its arms along.
    """

    def __init__(self, arms, study):
        super().__init__(schedule(arms, study.repeats, study.warmup, study.seed))
        self._arms = arms
        self._study = study

    def slots(self, result, meta):
        """META learns which arms had their runs made again."""
        yield from self._slots
        unsteady = grid.unsteady(self._figures(result, meta["cpus"]))
        if not unsteady:
            return
        pairs = [(arm.name, arm.against) for arm in self._arms]
        beside = {name for pair in pairs if set(pair) & set(unsteady) for name in pair} - set(unsteady)
        meta["again"] = {"replaced": {name: list(ends) for name, ends in unsteady.items()}, "beside": sorted(beside)}
        more = self._more([arm for arm in self._arms if arm.name in unsteady or arm.name in beside])
        self.expected += len(more)
        metric = metrics.BY_KEY[self._study.primary]
        ends = "; ".join(f"arm {name} was unsteady, {metric.label} from {units.short(low)} to {units.short(high)}"
                         for name, (low, high) in unsteady.items())
        self.note = f"{len(more)} runs again: {ends}"
        yield from more

    def _figures(self, result, cpus):
        """{arm: {round: figure}} of the primary metric."""
        out = {arm.name: {} for arm in self._arms}
        for slot in self._slots:
            if not slot.warmup:
                value = store.Run(raw.facts(result / "raw" / slot.directory), cpus).metrics[self._study.primary]
                if value is not None and math.isfinite(value):
                    out[slot.arm.name][slot.repeat] = value
        return {arm: runs for arm, runs in out.items() if runs}

    def _more(self, arms):
        drawn, out = Order(f"{self._study.seed} again"), []
        for repeat in range(self._study.repeats + 1, 2 * self._study.repeats + 1):
            for place, arm in enumerate(drawn.round(arms), 1):
                out.append(Slot(len(self._slots) + len(out), arm, repeat, False, place))
        return out
