# SPDX-License-Identifier: GPL-2.0-only
"""What an A/B comparison found: sentences for the report."""

from . import verdict, words
from ..model import guest_arm, metrics
from ..stats import pooled, ranks


def judge(result, stored):
    """Put the verdict into RESULT, a digest of STORED, a store.Result."""
    runs = {arm["name"]: stored.of_arm(arm["name"]) for arm in result["arms"]}
    about = result["ab"]
    found = verdict.of_pairs(*runs.values(), about["primary"], about["level"])
    result["verdict"] = {"pairs": len(runs[result["arms"][0]["name"]]), "left_out": found.left_out,
                         "level": about["level"], "lines": [line.record() for line in found.lines],
                         "sentences": [sentence(found.primary, about["level"])],
                         "percentiles": {arm: {f"p{p:g}": vars(x) for p, x in pooled.intervals(
                             [run.histogram for run in made], metrics.PERCENTILES).items()}
                             for arm, made in zip("AB", runs.values())}}
    if any(arm["no_measurement"] for arm in result["arms"]):
        result["verdict"].update(sentences=[f"No verdict: {guest_arm.NO_MEASUREMENT}."], no_measurement=True)
    stopped = [about["stopped"]] if about["stopped"] else []
    result["warnings"] = stopped + about["notes"] + found.notes + result["warnings"]


def sentence(line, level=ranks.LEVEL):
    """The primary metric's verdict in words."""
    label, unit = line.metric.label, line.metric.unit
    if not line.found.enough:
        return f"{label}: inconclusive, too few pairs that can be compared."
    if line.direction:
        size = words.change(line.found, unit).lstrip("+-")
        return f"B is {size} {line.word} than A: {label} {words.confidence(line.found, level, unit)}."
    return f"{label}: {words.no_difference(line.found, level, unit)}."
