# SPDX-License-Identifier: GPL-2.0-only
"""All arms of a study against their baselines, with few runs each: one model for the whole grid.

Two to five runs of an arm know little of how far its runs are apart, but all arms together know it well. Each arm's variance is
drawn towards the grid's by as much as the arms agree (Smyth 2004, "Linear models and empirical Bayes methods", Stat. Appl. Genet. Mol.
Biol. 3(1):3; moderated t), what rounds have in common is taken out first (Tukey's median polish), and all comparisons are corrected
together (Holm 1979). See docs/statistics.md.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy import special, stats

LEVEL = 0.95
POWER = 0.8
# No two runs are the same to a hundredth of a per cent, whatever two of them say.
_LEAST_SD = 1e-4
# So many arms tell what a round has in common by their median; fewer by their mean, where so many degrees of freedom are left and
# the variance falls below this share.
_FEWEST_FOR_ROUNDS, _LEFT, _HELPS = 8, 8, 0.5
# With two runs an arm so few arms cannot know whether runs fall into two modes: what they rule out is said, and no difference is found.
_UNDECIDED = 3
# Two runs an arm know no more than so many degrees of freedom of how far runs are apart, however many arms there are: of outliers they
# see few and are hit by all.
_TWO_RUNS = 6.0
# Where runs may have two modes, an arm's variance is at least this share of the grid's, and more the more the arms are alike (d0/(d0 + 1), d0 being the grid's degrees of freedom).
_FLOOR = 0.5
# The quantile that the spread of the arms' variances is held against: its middle for so many degrees of freedom, below that for fewer.
_CAUTION, _FULL_GRID = 0.5, 30
# What two modes may explain, in shares of studies; and how unlike two modes the runs of the noisier arms must be to be of one.
_RARE, _ONE_MODE = 0.01, 0.6


@dataclass
class Change:
    """An arm against its baseline. KIND "ratio": figures are changes in %; "difference": in the metric's unit.

    LOW and HIGH leave out 0 exactly where RESOLVED; LEVEL is the confidence that this takes beside all other comparisons,
    P is corrected for them. N runs are the fewer of both sides; below two nothing is known of how far runs are apart.
    """
    kind: str
    estimate: float
    low: float
    high: float
    p: float
    level: float
    n: int
    resolved: bool = False

    @property
    def direction(self):
        """+1, -1, or 0 where no difference was found."""
        return (1 if self.estimate > 0 else -1) if self.resolved else 0


@dataclass
class Grid:
    """CHANGES by (arm, baseline); SMALLEST is the change (% or unit) that so many runs find four times in five, inf with one run.

    PRIOR is (degrees of freedom, sd) of the grid, towards which the arms are drawn.
    """
    kind: str
    changes: dict = field(default_factory=dict)
    smallest: float = math.inf
    prior: tuple = (0.0, 0.0)


def judge(figures, asked, level=LEVEL, rounds=True):
    """A Grid of FIGURES, {arm: {round: figure}}; ASKED are the comparisons, (arm, baseline), of which one without figures is left out.

    Without ROUNDS what the arms of a round have in common is not taken out: it is what differs between sessions.
    """
    names = [name for name in figures if figures[name]]
    columns = sorted({r for name in names for r in figures[name]})
    table = np.array([[figures[name].get(r, math.nan) for r in columns] for name in names], float).reshape(len(names), len(columns))
    pairs = [(names.index(arm), names.index(base)) for arm, base in asked if arm != base and arm in names and base in names]
    kind = "ratio" if (table[~np.isnan(table)] > 0).all() else "difference"
    found = Grid(kind)
    if not pairs:
        return found
    table = np.log(table) if kind == "ratio" else table
    model = _Model(table, kind, rounds)
    arm, base = np.array(pairs).T
    estimate, n = model.differences(arm, base)
    se, df = model.error(arm, base, n)
    known, t = np.isfinite(se), np.zeros(len(se))
    many = int(known.sum())
    if many and model.undecided:
        # Every interval then holds 0.
        se[known] = np.maximum(se[known], 1.001 * np.abs(estimate[known]) / stats.t.ppf(1 - (1 - level) / (2 * many), df[known]))
    if many:
        found.prior = (float(model.prior_df), math.sqrt(model.prior_var))
        t[known] = np.abs(estimate[known]) / se[known]
    levels, ps, resolved = _holm(t, df, known, level)
    for k, (i, j) in enumerate(pairs):
        reach = float(se[k] * stats.t.ppf((1 + levels[k]) / 2, df[k])) if known[k] else math.inf
        found.changes[names[i], names[j]] = Change(kind, _back(kind, estimate[k]), _back(kind, estimate[k] - reach), _back(kind, estimate[k] + reach),
                                         float(ps[k]), float(levels[k]), int(n[k].min()), bool(resolved[k]))
    if many and not model.undecided:
        first = 1 - (1 - level) / many
        reach = se[known] * (stats.t.ppf((1 + first) / 2, df[known]) + stats.t.ppf(POWER, df[known]))
        found.smallest = abs(_back(kind, float(np.median(reach))))
    return found


def _holm(t, df, known, level):
    """(level of each interval, corrected p, is it a difference?), stepping down from the surest.

    The comparisons left when the first one fails all have the level of that step, so that an interval holds 0 exactly where no difference is found.
    """
    raw = np.where(known, 2 * stats.t.sf(t, np.where(known, df, 1)), 1.0)
    order = [i for i in np.argsort(raw, kind="stable") if known[i]]
    levels, ps, resolved = np.full(len(t), level), np.ones(len(t)), np.zeros(len(t), bool)
    worst, going = 0.0, True
    for place, i in enumerate(order):
        left = len(order) - place
        worst = max(worst, min(1.0, raw[i] * left))
        ps[i] = worst
        if going:
            step, going = 1 - (1 - level) / left, worst <= 1 - level
        levels[i], resolved[i] = step, going
    return levels, ps, resolved


class _Model:
    """Means and moderated variances of the rows of TABLE, NaN where a run is missing."""

    def __init__(self, table, kind, rounds):
        self.table, self.rounds = table, rounds
        self.n = (~np.isnan(table)).sum(axis=1)
        self.mean = np.nanmean(table, axis=1)
        floor = _LEAST_SD if kind == "ratio" else _LEAST_SD * max(float(np.nanmax(np.abs(table))), 1e-300)
        least = floor ** 2
        residuals, share = _without_rounds(table) if rounds else (table - self.mean[:, None], 1.0)
        self.df = np.maximum(self.n - 1, 0) * share
        self.pairs = rounds and self.n.max() <= 2 and len(self.n) < _FEWEST_FOR_ROUNDS
        self.undecided = self.pairs and len(self.n) <= _UNDECIDED
        self.own = np.maximum(np.nansum(residuals ** 2, axis=1) / np.maximum(self.df, 1e-9), least)
        measured = self.n > 1
        self.prior_df, self.prior_var = _prior(self.own[measured], self.df[measured])
        self.floor = self.prior_var
        if not self.pairs and not math.isinf(self.prior_df):
            self.floor *= max(_FLOOR, self.prior_df / (self.prior_df + 1))
            # Two runs are no shape.
            if self.n.max() > 2:
                self.floor = min(self.floor, _floor(residuals[measured], self.own[measured], self.df[measured]))
        self.var, self.total_df = self._moderated()

    def _moderated(self):
        """(variances, degrees of freedom) drawn towards the grid's by as much as the arms' agree.

        That the runs of an arm happen to agree is no proof that it is a steady one: where runs may fall into two modes, three of them are
        in the same one every fourth time. No variance is then below the floor.
        """
        most = max(float(self.df.sum()), 1e-9)
        if self.pairs:
            # What happens to each fourth run, say, makes two runs of an arm alike more often than chance does.
            most = min(most, 1.0)
        elif self.n.max() <= 2:
            most = min(most, _TWO_RUNS)
        if math.isinf(self.prior_df):
            return np.full(len(self.n), self.prior_var), np.full(len(self.n), most)
        total = self.df + self.prior_df
        weighted = self.df * np.where(self.n > 1, self.own, 0.0) + self.prior_df * self.prior_var
        # All arms together have no more degrees of freedom than their runs.
        return np.maximum(weighted / np.maximum(total, 1e-9), self.floor), np.minimum(total, most)

    def differences(self, arm, base):
        """(differences of rows ARM and BASE, runs of both), from the rounds that both have where those are two or more.

        Where runs were made again the level may have moved since the first rounds; it is in both rows of the later ones.
        """
        estimate, n = self.mean[arm] - self.mean[base], np.stack([self.n[arm], self.n[base]], axis=1)
        if self.rounds and np.isnan(self.table).any():
            apart = self.table[arm] - self.table[base]
            common = (~np.isnan(apart)).sum(axis=1)
            near = common > 1
            estimate[near], n[near] = np.nanmean(apart[near], axis=1), common[near, None]
        return estimate, n

    def error(self, arm, base, n):
        """(standard errors, degrees of freedom by Satterthwaite 1946) of the differences of rows ARM and BASE of N runs."""
        one, two = self.var[arm] / n[:, 0], self.var[base] / n[:, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            df = (one + two) ** 2 / (one ** 2 / self.total_df[arm] + two ** 2 / self.total_df[base])
            se = np.sqrt(one + two)
        unknown = (self.total_df[arm] < 0.5) | (self.total_df[base] < 0.5)
        return np.where(unknown, math.inf, se), np.where(unknown, 1.0, df)


def _without_rounds(table):
    """(residuals of arms, share of their degrees of freedom that is left) without what the arms of a round have in common."""
    rows, columns = table.shape
    # nanmedian() takes ten times as long.
    median = np.nanmedian if np.isnan(table).any() else np.median
    residuals = table - median(table, axis=1)[:, None]
    if rows < _FEWEST_FOR_ROUNDS or columns < 2:
        plain = table - np.nanmean(table, axis=1)[:, None]
        if rows < 2 or (rows - 1) * (columns - 1) < _LEFT or np.isnan(table).any():
            return plain, 1.0
        blocked = plain - plain.mean(axis=0)
        share = 1 - 1 / rows
        helps = (blocked ** 2).sum() / share < _HELPS * (plain ** 2).sum()
        return (blocked, share) if helps else (plain, 1.0)
    # A round that few arms had again does not know what all had in common.
    whole = (~np.isnan(table)).sum(axis=0) >= _FEWEST_FOR_ROUNDS
    for _ in range(3):
        residuals = residuals - np.where(whole, median(residuals, axis=0), 0.0)[None, :]
        residuals = residuals - median(residuals, axis=1)[:, None]
    return residuals - np.nanmean(residuals, axis=1)[:, None], 1 - 1 / rows


def _prior(own, df):
    """(degrees of freedom, variance) that the arms' variances OWN come from, by their logarithms' mean and spread (Smyth 2004, 6.2).

    The spread that few arms happen to have is no proof that they are alike: the fewer they are, the higher
    a limit of it is taken (chi-square).
    """
    if not len(own):
        return 0.0, 0.0
    if len(own) == 1:
        # The only one that knows anything speaks for all.
        return float(df[0]), float(own[0])
    e = np.log(own) - special.digamma(df / 2) + np.log(df / 2)
    spread = e.var(ddof=1) * (len(own) - 1) / stats.chi2.ppf(_CAUTION * min(1, float(df.sum()) / _FULL_GRID), len(own) - 1)
    left = float(spread - special.polygamma(1, df / 2).mean())
    # Runs in two modes make variances of two kinds, whose logarithm's middle is neither: the mean of the variances is the safe side,
    # without the few arms whose runs differ far more than those of all others.
    kept = np.argsort(own)[:len(own) - len(own) // 10]
    mean = float((df * own)[kept].sum() / df[kept].sum())
    if left <= 0:
        return math.inf, mean
    prior_df = 2 * _trigamma_inverse(left)
    return prior_df, mean


def _floor(residuals, own, df):
    """The variance below which no arm's may be taken, because its runs may all be of one of two modes: 0 where there are no modes.

    OWN are the arms' variances. A few arms can be noisier than all others without modes (_few()). What then remains above the mean is
    looked at: runs in two modes leave a gap.
    """
    runs = (~np.isnan(residuals)).sum(axis=1)
    order = np.argsort(own)
    kept = order[:len(own) - _few(len(own), int(runs.min()))]
    mean = float((df * own)[kept].sum() / df[kept].sum())
    wide = [i for i in kept if own[i] > mean and runs[i] > 2]
    if not wide:
        return mean
    alike = [_alike(residuals[i][~np.isnan(residuals[i])]) for i in wide]
    return 0.0 if stats.chi2.sf(-2 * float(np.log(alike).sum()), 2 * len(alike)) > _ONE_MODE else mean


@lru_cache(maxsize=None)
def _few(arms, runs):
    """How many of ARMS of RUNS each may differ in spread, all others being alike, before two modes are the likelier reason.

    Were a run in the second mode with probability q, whatever q is, so few arms in both modes and some arm wholly in the second one
    would be seen together less often than once in a hundred studies.
    """
    q = np.linspace(0.01, 0.5, 50)
    both, second = 1 - (1 - q) ** runs - q ** runs, np.minimum(1, arms * q ** runs)
    few = 0
    while few + 1 < arms / 2 and (stats.binom.cdf(few + 1, arms, both) * second).max() < _RARE:
        few += 1
    return few


def _split(table):
    """For each row: the least sum of squares within two groups, as a share of all of it."""
    ordered = np.sort(table, axis=1)
    total = ((ordered - ordered.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    within = [sum(((part - part.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for part in (ordered[:, :k], ordered[:, k:]))
              for k in range(1, ordered.shape[1])]
    return np.min(within, axis=0) / np.maximum(total, 1e-300)


@lru_cache(maxsize=None)
def _splits(runs):
    """Sorted shares of _split() of RUNS that have one mode."""
    return np.sort(_split(np.random.default_rng(1).standard_normal((4000, runs))))


def _alike(runs):
    """The chance that as many runs of one mode as RUNS fall into two groups as clearly as they do."""
    usual = _splits(len(runs))
    return (np.searchsorted(usual, _split(runs[None, :])[0]) + 1) / (len(usual) + 1)


def _trigamma_inverse(value):
    """x with trigamma(x) = VALUE, by Newton's method (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        now = float(special.polygamma(1, x))
        step = now * (1 - now / value) / float(special.polygamma(2, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x


def _back(kind, value):
    """A difference on the scale of logarithms as a change in %, or as it is."""
    return 100 * math.expm1(min(float(value), 700.0)) if kind == "ratio" else float(value)


# An arm is unsteady where its largest figure is this much of its smallest, and the ratio is so many times (on logarithms) the usual arm's.
_RANGE, _TIMES = 1.2, 5.0


def unsteady(figures):
    """{arm: (smallest, largest)} of the arms of FIGURES, {arm: {round: figure}}, whose runs differ far beyond those of the others."""
    ends = {arm: (min(runs.values()), max(runs.values())) for arm, runs in figures.items() if len(runs) > 1 and min(runs.values()) > 0}
    if len(ends) < 2:
        return {}
    apart = {arm: math.log(high / low) for arm, (low, high) in ends.items()}

    def usual(arm):
        return float(np.median([v for other, v in apart.items() if other != arm]))
    return {arm: ends[arm] for arm, v in apart.items() if v > math.log(_RANGE) and v > _TIMES * usual(arm)}
