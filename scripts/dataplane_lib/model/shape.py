# SPDX-License-Identifier: GPL-2.0-only
"""How a study's arms lie: one numeric factor along x, the others as series."""

from .. import units


def along(result):
    """The factor to put along x: the study's choice, or the numeric one with the most values.

    None if none has 3, or an arm that is compared with another one lacks it.
    """
    if result["study"].get("along"):
        return result["study"]["along"]
    if patchy(result):
        return None
    best = None
    for name, values in result["study"]["factors"].items():
        if len(values) >= 3 and all(units.number(v) is not None for v in values):
            if best is None or len(values) > len(result["study"]["factors"][best]):
                best = name
    return best


def base(result, arm):
    """The arm that ARM is compared with."""
    return next(a for a in result["arms"] if a["name"] == arm["against"])


def measured(result, arm):
    """False where ARM, or what it is compared with, is no measurement: an emulated guest."""
    return not arm.get("no_measurement") and not base(result, arm).get("no_measurement")


def outside(result):
    """Baselines that have no place along x, such as polling off."""
    x = along(result)
    return [a for a in result["arms"] if x and x not in a["values"]]


def full(values):
    """Factor values in words: 'poll=fixed bs=4k'."""
    return " ".join(f"{k}={v}" for k, v in values.items())


def label(values):
    """Words alone, numbers with their name: 'fixed, iodepth=8'."""
    return ", ".join(f"{k}={v}" if units.number(v) is not None else str(v) for k, v in values.items())


def workload(result, base):
    """What BASE has of its own among the baselines: 'nbd.so, write'; empty for an only one."""
    bases = [a["values"] for a in result["arms"] if a["baseline"]]
    return ", ".join(str(v) for k, v in base["values"].items() if any(b.get(k) != v for b in bases))


def differs(result, arm, besides=()):
    """The values in which ARM is another than its baseline: 'futex'.

    For a baseline all that tell anything: neither BESIDES nor the same in every arm.
    """
    other = base(result, arm)["values"]
    apart = {k: v for k, v in arm["values"].items() if other.get(k) != v}
    if apart:
        return label(apart)
    told = {k: v for k, v in arm["values"].items() if k not in besides
            and any(a["values"].get(k) != v for a in result["arms"])}
    return label(told or arm["values"])


def patchy(result):
    """True where an arm that is compared with another one lacks a factor: the study's groups differ."""
    return any(name not in a["values"] for a in result["arms"] if not a["baseline"]
               for name in result["study"]["factors"])


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
