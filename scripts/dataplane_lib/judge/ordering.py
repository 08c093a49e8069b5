# SPDX-License-Identifier: GPL-2.0-only
"""A published ordering held against this result, in words: as published, the other way round, or not told apart."""

from itertools import combinations

from .. import units
from . import arms as judged, words
from ..model import metrics, shape
from ..stats import grid


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
    """Every pair of the published order, all of them judged together."""
    key = result["study"]["primary"]
    better = metrics.BY_KEY[key].better or 1
    asked = [(arms[a]["name"], arms[b]["name"]) for a, b in combinations([n for n in order if n in arms], 2)]
    names = {arm["name"]: name for name, arm in arms.items()}
    found = grid.judge(judged.figures(result, key), asked).changes
    as_told, reverse, same = [], [], []
    for (a, b), change in found.items():
        text = f"{names[a]} against {names[b]} {words.change(change)} ({words.interval(change)})"
        (same if not change.direction else as_told if change.direction * better > 0 else reverse).append(text)
    parts = [f"Confirmed: {'; '.join(as_told)}."] if as_told else []
    parts += [f"Reversed: {'; '.join(reverse)}."] if reverse else []
    parts += [f"Inconclusive: {'; '.join(same)}."] if same else []
    return (f"published ranking: {len(as_told)} of {len(asked)} pairs confirmed, {len(reverse)} reversed, "
            f"{len(asked) - len(as_told) - len(reverse)} inconclusive. " + " ".join(parts))


def _restless(result, arms, restless, steady):
    """Does one peak higher than the other, and swing more?"""
    a, b = arms[restless], arms[steady]
    peaks = ("a higher peak", "a lower peak", "no clearly different peak")
    swings = ("swings more", "swings less", "swings no clearly different amount")
    return (f"{restless} reached {units.short(shape.value(a, 'sample_max'))} in its best sample, {steady} "
            f"{units.short(shape.value(b, 'sample_max'))}: {_judged(result, a, b, 'sample_max', peaks)}; standard deviation "
            f"{units.short(shape.value(a, 'sample_sd'))} against {units.short(shape.value(b, 'sample_sd'))}: "
            f"{_judged(result, a, b, 'sample_sd', swings)}.")


def _judged(result, a, b, key, texts):
    change = grid.judge(judged.figures(result, key), [(a["name"], b["name"])]).changes.get((a["name"], b["name"]))
    return texts[2] if not change or not change.direction else texts[0] if change.direction > 0 else texts[1]
