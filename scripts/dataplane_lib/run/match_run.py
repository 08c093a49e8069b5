# SPDX-License-Identifier: GPL-2.0-only
"""The runs of dataplane match: one grid for both sides, and the search for the costs with which ours follows."""

import itertools
from dataclasses import dataclass, field

from ..model import match, server, study
from ..model.match import FITTED, TARGET
from . import pairing
from ..stats import fit
from ..errors import RunFailed
from .order import Course, Order, Slot


@dataclass
class Match(study.Study):
    """The grid as a study, with the peer named by PEER as the baseline; COSTS are those of FITTED by backend, in ns.

    OPTIONS are of both our arms, GUEST those of the guests.
    """
    peer: str = ""
    options: str = ""
    guest: str = ""
    costs: dict = field(default_factory=dict)

    def setup(self, arm):
        who, backend = arm.values["server"], arm.values["backend"]
        known = match.PEERS[self.peer]
        table = (known.theirs if who == self.peer else known.ours)[backend]
        serving = server.Server().changed(table, who)
        if self.guest:
            serving = serving.changed({"options": self.guest}, "--guest")
        extra = self.options if who != self.peer else ""
        if who == FITTED:
            request, wakeup = self.costs[backend]
            extra += f" --request-cost {request}ns --wakeup-cost {wakeup}ns"
        if "poll-max-ns" in arm.values:
            extra += f" --poll-max-ns {arm.values['poll-max-ns']}"
        if extra:
            serving = serving.changed({"options": extra}, "--target")
        return study.Setup(self.job, {**self.variables, **{k: arm.values[k] for k in ("bs", "iodepth")}}, serving)

    def settings(self):
        # What the others stand for is said with the server.
        return {**super().settings(), "choices": {"server": self.choices["server"]}}


def choices(known, factors):
    """Every value of FACTORS that setup() knows what to do with; for a server, what the report says of it."""
    def told(tables):
        return {"command": "; ".join(f"{b}: {tables[b].get('command') or tables[b]['program'] + ' ' + tables[b]['options']}"
                                     for b in factors["backend"])}
    out = {name: dict.fromkeys(values, {}) for name, values in factors.items() if name not in ("bs", "iodepth", "server")}
    out["server"] = {who: told(known.ours if who in (TARGET, FITTED) else known.theirs) for who in factors["server"]}
    return out


class Fitting(Course):
    """The runs: a round over the peer and the target as it is, STEPS of it with costs tried, then the rounds that count.

    Costs are decided by runs that do not count, so that what they come to is not judged by what they were made from.
    """

    def __init__(self, chosen, steps):
        self.study = chosen
        self.steps = steps
        self.order = Order(chosen.seed)
        self.arms = {arm.name: arm for arm in chosen.arms()}
        self.grid = [dict(zip(chosen.factors, values)) for values in itertools.product(*chosen.factors.values())]
        self.grid = [{k: v for k, v in p.items() if k != "server"} for p in self.grid if p["server"] == chosen.peer]
        self.expected = len(self.grid) * (2 * (steps + 1 if steps else 0) + len(self.arms) // len(self.grid) * chosen.repeats)
        self._number = 0

    def slots(self, result, meta):
        told = meta["match"] = {"peer": self.study.peer, "steps": [], "costs": self.study.costs, "intervals": {}}
        if self.steps:
            yield from self._search(result, meta, told["steps"], told["intervals"])
        for repeat in range(1, self.study.repeats + 1):
            for place, arm in enumerate(self.order.round(self.arms.values()), 1):
                yield self._slot(arm, repeat, False, place)

    def _slot(self, arm, repeat, trial, place=0):
        self._number += 1
        return Slot(self._number - 1, arm, repeat, trial, place)

    def _arm(self, who, place):
        return next(a for a in self.arms.values() if a.values == {**place, "server": who})

    def _search(self, result, meta, told, intervals):
        points = [fit.Point() for _ in self.grid]
        for step in range(self.steps + 1):
            before = {b: tuple(c) for b, c in self.study.costs.items()}
            ratios = {backend: [] for backend in before}
            for place, point in zip(self.grid, points):
                pair = [self._arm(who, place) for who in (self.study.peer, FITTED if step else TARGET)]
                found = {}
                for arm in self.order.round(pair):
                    slot = self._slot(arm, step, True)
                    yield slot
                    found[arm.name] = pairing.load_run(result / "raw" / slot.directory, meta["cpus"]).metrics
                peer, ours = (found[arm.name] for arm in pair)
                if ours["sleeps_per_io"] is None:
                    raise RunFailed(f"{pair[1].name}: the target does not say how often it slept")
                used = [1e3 * side["target_us_per_io"] for side in (peer, ours) if side["target_us_per_io"] is not None]
                point.learn(peer["iops"], ours["iops"], ours["sleeps_per_io"], before[place["backend"]], used if len(used) == 2 else None)
                ratios[place["backend"]].append(ours["iops"] / peer["iops"])
            for backend, found in ratios.items():
                told.append({"step": step, "backend": backend, "request_cost_ns": before[backend][0],
                             "wakeup_cost_ns": before[backend][1], "error": fit.error(found)})
                self.study.costs[backend] = list(fit.costs(_of(backend, points, self.grid)))
        for backend in self.study.costs:
            intervals[backend] = fit.intervals(_of(backend, points, self.grid), seed=self.study.seed)


def _of(backend, points, grid):
    """Those of POINTS whose place in GRID has BACKEND."""
    return [point for point, place in zip(points, grid) if place["backend"] == backend]
