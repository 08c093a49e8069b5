# SPDX-License-Identifier: GPL-2.0-only
"""How a study's arms lie: one numeric factor along x, the others as series."""

from . import units


def along(result):
    """The factor to put along x: numeric, with the most values; None if none has 3."""
    best = None
    for name, values in result["study"]["factors"].items():
        if len(values) >= 3 and all(units.number(v) is not None for v in values):
            if best is None or len(values) > len(result["study"]["factors"][best]):
                best = name
    return best


def base(result, arm):
    """The arm that ARM is compared with."""
    return next(a for a in result["arms"] if a["name"] == arm["against"])


def outside(result):
    """Baselines that have no place along x, such as polling off."""
    x = along(result)
    return [a for a in result["arms"] if x and x not in a["values"]]


def full(values):
    """Factor values in words: 'poll=fixed bs=4k'."""
    return " ".join(f"{k}={v}" for k, v in values.items())


def label(values):
    """The values alone: 'fixed, 4k'."""
    return ", ".join(str(v) for v in values.values())


def series(result):
    """[(label, arms sorted along x)]; the label of an only series may be empty."""
    x = along(result)
    out = {}
    for arm in result["arms"]:
        if x and x not in arm["values"]:
            continue
        rest = {k: v for k, v in arm["values"].items() if k != x}
        out.setdefault(label(rest) if rest else "", []).append(arm)
    if x:
        for arms in out.values():
            arms.sort(key=lambda a: units.number(a["values"][x]))
    return list(out.items())


def value(arm, key):
    """An arm's figure, None where the run could not give it."""
    entry = arm["metrics"].get(key)
    return entry["value"] if entry else None
