# SPDX-License-Identifier: GPL-2.0-only
"""A published ordering held against this result, in words: as published, the other way round, or not told apart."""

import math
from itertools import combinations

from .. import units
from ..model import metrics, shape
from ..stats import rounds


def sentences(result):
    """What the result says about study.toml's [published], a few sentences a workload."""
    told = result["study"].get("published")
    if not told:
        return []
    out = []
    bases = [a for a in result["arms"] if a["baseline"]]
    for base in bases:
        arms = _line(result, base, told["factor"])
        if sum(name in arms for name in told["order"]) < 2:
            continue
        where = shape.workload(result, base) if len(bases) > 1 else ""
        start = f"{where}: " if where else ""
        texts = [_figures(result, arms, told), _order(result, arms, told["order"])]
        restless, steady = told.get("restless"), told.get("steady")
        if restless in arms and steady in arms and shape.value(arms[restless], "sample_max"):
            texts.append("samples: " + _restless(result, arms, restless, steady))
        out += [start + text if start else text[0].upper() + text[1:] for text in texts]
    return out


def _line(result, base, factor):
    """{value of FACTOR: arm} of the arms that differ from BASE in nothing else."""
    return {a["values"][factor]: a for a in result["arms"]
            if a["against"] == base["name"] and {**base["values"], factor: None} == {**a["values"], factor: None}
            and factor in a["values"]}


def _figures(result, arms, told):
    """Published and measured, each from the best down."""
    published = " > ".join(f"{name} {value:g}" for name, value in zip(told["order"], told["values"]))
    key = result["study"]["primary"]
    metric = metrics.BY_KEY[key]
    here = sorted((n for n in told["order"] if n in arms), key=lambda n: -shape.value(arms[n], key) * metric.better)
    measured = ", ".join(f"{n} {units.short(shape.value(arms[n], key))}" for n in here)
    return f"published ({told['source']}): {published} {told['unit']}; here: {measured} {metric.label}."


def _order(result, arms, order):
    """Every pair of the published order, judged with the p of all of them corrected together."""
    from ..stats import ranks  # scipy takes a while, and most reports have no need of it
    key = result["study"]["primary"]
    better = metrics.BY_KEY[key].better or 1
    pairs = list(combinations([n for n in order if n in arms], 2))
    figures = [rounds.pairs(result, arms[b], arms[a], key) for a, b in pairs]
    few = min(len(worse) for worse, _ in figures)
    # No p of a signed-rank test on n runs is below 2 / 2^n, and it is looked at together with the others.
    wanted = math.ceil(1 + math.log2(len(pairs) / (1 - ranks.LEVEL)))
    if few < wanted:
        return (f"{few} {'run' if few == 1 else 'runs'} an arm that can be paired cannot tell that order "
                f"({wanted} might): none of it is confirmed or refuted.")
    found = [ranks.paired(*both) for both in figures]
    ps = ranks.holm([f.p for f in found])
    as_told, reverse, same = [], [], []
    for (a, b), f, p in zip(pairs, found, ps):
        text = f"{a} against {b} {_change(f)}"
        if f.resolved and p <= 1 - ranks.LEVEL:
            (as_told if f.estimate * better > 0 else reverse).append(text)
        else:
            same.append(text)
    parts = [f"as published: {'; '.join(as_told)}"] if as_told else []
    parts += [f"the other way round: {'; '.join(reverse)}"] if reverse else []
    parts += [f"cannot be told apart: {'; '.join(same)}"] if same else []
    head = f"of the {len(pairs)} pairs in that order {len(as_told)} came back, {len(reverse)} turned round"
    return f"{head}, {len(same)} cannot be told apart. " + ". ".join(p[0].upper() + p[1:] for p in parts) + "."


def _change(found):
    unit = " %" if found.kind == "ratio" else ""
    return f"{found.estimate:+.1f}{unit} [{found.low:+.1f}, {found.high:+.1f}]"


def _restless(result, arms, restless, steady):
    """Does one peak higher than the other, and swing more?"""
    a, b = arms[restless], arms[steady]
    peaks = ("a higher peak", "a lower peak", "no clearly different peak")
    swings = ("swings more", "swings less", "swings no clearly different amount")
    return (f"{restless} reached {units.short(shape.value(a, 'sample_max'))} in its best sample, {steady} "
            f"{units.short(shape.value(b, 'sample_max'))}: {_judged(result, a, b, 'sample_max', peaks)}; standard deviation "
            f"{units.short(shape.value(a, 'sample_sd'))} against {units.short(shape.value(b, 'sample_sd'))}: "
            f"{_judged(result, a, b, 'sample_sd', swings)}.")


def _judged(result, a, b, key, words):
    from ..stats import ranks
    both = rounds.pairs(result, b, a, key)
    found = ranks.paired(*both) if both[0] else None
    if found is None or not found.resolved:
        return words[2]
    return words[0] if found.estimate > 0 else words[1]
