# SPDX-License-Identifier: GPL-2.0-only
"""dataplane doctor --ci PCT: can this machine see a change of so many per cent? From pairs of runs of equal arms, whose differences are all noise."""

import contextlib
import json
import math
import os
import statistics
import tempfile
from pathlib import Path

from .. import units
from . import for_json
from ..errors import INCONCLUSIVE, CommandLine

PAIRS = 8
# As many as ab --until-resolved goes to.
MOST = 100
_JOB = ("poll-max-ns", "--runtime", "0.5", "--ramp", "0.1")


def add(sub):
    """Give doctor its option."""
    sub.add_argument("--ci", nargs="?", const="5", metavar="PCT",
                     help="measure the noise of equal arms, and say how many pairs a change of PCT %% takes (default: not measured; without a number 5)")
    for_json.add(sub)


def examine(args, dataplane, data):
    """Measure, say it and put it into DATA; returns the exit status. DATAPLANE(argv) runs a command."""
    percent = units.number(str(args.ci).rstrip("% "))
    if not percent or percent <= 0:
        raise CommandLine(f"--ci {args.ci}: expected a number of per cent above 0, such as 5")
    with tempfile.TemporaryDirectory() as tmp:
        file = Path(tmp) / "result.json"
        argv = ["ab", "--no-bisect", "--a", "poll=off", "--b", "poll=off", "--pairs", str(PAIRS), "--warmup", "1", "--out", str(Path(tmp) / "out"), "--json", str(file), *_JOB]
        with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null):
            dataplane(argv)
        found = json.loads(file.read_text(encoding="utf-8"))
    spread = noise(found)
    needed = pairs(spread, percent)
    data["noise"] = {"percent": 100 * spread, "of_pairs": PAIRS, "change_percent": percent, "pairs_needed": needed, "pairs_at_most": MOST, "visible_percent": visible(spread)}
    steady = _steadier(found, percent, needed, data["noise"])
    each = 2 * found["took_s"] / len(found["runs"])
    print(f"{'OK   ' if needed <= MOST else 'BAD  '}noise: equal arms differ by {units.percent(100 * spread).lstrip('+')} in IOPS from pair to pair (standard deviation of {PAIRS} pairs)")
    if needed <= MOST:
        said = f"     -> a change of {percent:g} % is found 4 times in 5 with {needed} pairs, {units.duration(needed * each)} of runs as long as these"
    else:
        said = (f"     -> a change of {percent:g} % would take {needed} pairs, more than the {MOST} that --until-resolved goes to: a quieter or dedicated machine, longer runs, or a limit of "
                f"{units.percent(visible(spread)).lstrip('+')}")
    print("\n".join([said, *steady]), flush=True)
    return 0 if needed <= MOST else INCONCLUSIVE


def _steadier(result, percent, needed, data):
    """A line if the median latency takes fewer pairs than IOPS, which NEEDED so many: a moment in which others had the CPU moves it less. DATA gets its noise."""
    try:
        spread = noise(result, "lat_p50_us")
    except KeyError:
        return []
    data["lat_p50"] = {"percent": 100 * spread, "pairs_needed": pairs(spread, percent)}
    if data["lat_p50"]["pairs_needed"] >= needed:
        return []
    return [f"     -> lat p50 differs by {units.percent(100 * spread).lstrip('+')} only: with --fail-if 'lat_p50_us > {percent:g}%' it takes {data['lat_p50']['pairs_needed']} pairs"]


def noise(result, key="iops"):
    """The standard deviation of the logarithms of the pairs' ratios of the metric KEY, of a result of equal arms."""
    by_arm = {}
    for run in result["runs"]:
        by_arm.setdefault(run["arm"], {})[run["repeat"]] = run["metrics"][key]
    a, b = by_arm.values()
    return statistics.stdev(math.log(b[n] / a[n]) for n in a if n in b)


def _reach(number):
    """Of so many pairs, in standard deviations of their mean: what an interval of 95 % and a power of 80 % take."""
    from scipy import stats
    return stats.t.ppf(0.975, number - 1) + stats.t.ppf(0.8, number - 1)


def pairs(spread, percent):
    """How many pairs, an even number, find a change of PERCENT four times in five, where pairs of equal arms differ by SPREAD."""
    change, number = math.log1p(percent / 100), 6
    while number <= 100000 and _reach(number) * spread / math.sqrt(number) > change:
        number += 2 if number < 200 else 2 * round(number / 40)
    return number


def visible(spread):
    """The change in % that MOST pairs find."""
    return 100 * math.expm1(_reach(MOST) * spread / math.sqrt(MOST))
