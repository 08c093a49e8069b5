# SPDX-License-Identifier: GPL-2.0-only
"""What an A/B comparison found: sentences for the report, a status for scripts."""

import re

from . import verdict, words
from ..model import guest_arm, metrics
from ..stats import pooled, ranks
from ..errors import Refused

# The exit statuses that git bisect run understands.
NOT_WORSE, WORSE, UNRESOLVED = 0, 1, 125


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


def fail_condition(text):
    """(metric, -1 or +1, %) of --fail-if 'iops < -2%'."""
    match = re.fullmatch(r"\s*(\S+?)\s*([<>])\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*%\s*", text)
    if not match:
        raise Refused(f"--fail-if '{text}': expected METRIC < PERCENT% or METRIC > PERCENT%, such as 'iops < -2%'")
    metrics.check(match[1], f"--fail-if '{text}'")
    return match[1], -1 if match[2] == "<" else 1, float(match[3])


def status(result, condition):
    """(exit status, sentence) of --fail-if: the whole interval must lie on one side of the limit."""
    key, side, limit = condition
    line = next((x for x in result["verdict"]["lines"] if x["metric"] == key), None)
    asked = f"--fail-if {key} {'<' if side < 0 else '>'} {limit:+g} %"
    if result["verdict"].get("no_measurement"):
        return UNRESOLVED, f"{asked}: unresolved, {guest_arm.NO_MEASUREMENT}"
    if line is None or line["kind"] != "ratio" or line["level"] < line["wanted"]:
        return UNRESOLVED, f"{asked}: unresolved"
    near, far = (line["low"], line["high"]) if side < 0 else (line["high"], line["low"])
    if side * (far - limit) > 0:
        return WORSE, f"{asked}: true of the whole interval"
    if side * (near - limit) <= 0:
        return NOT_WORSE, f"{asked}: not true of any of the interval"
    return UNRESOLVED, f"{asked}: unresolved, the interval lies on both sides; more pairs would tell"


