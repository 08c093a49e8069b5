# SPDX-License-Identifier: GPL-2.0-only
"""What a match found: every point of the grid, and how far off the target was before and after its costs were fitted."""

import statistics

from .. import units
from ..model import match, shape
from ..stats import fit, rounds

# What a match should come to.
AIM = 0.10


def tell(result):
    """Put the points and the sentences into RESULT, a digest."""
    peer, costs = result["match"]["peer"], result["match"]["costs"]
    places = [{k: v for k, v in a["values"].items() if k != "server"} for a in result["arms"] if a["values"]["server"] == peer]
    points = [(place, {a["values"]["server"]: a for a in result["arms"] if a["values"] == {**place, "server": a["values"]["server"]}})
              for place in places]
    points = [(place, arms, _ratios(result, arms, peer)) for place, arms in points]
    none = any(a["no_measurement"] for a in result["arms"])
    ours = [who for who in (match.TARGET, match.FITTED) if who in points[0][1]]
    result["match"]["errors"] = {b: {who: fit.error([ratios[who] for place, _, ratios in points if place["backend"] == b])
                                      for who in ours} for b in costs}
    sentences = [] if none else [text for b in costs for text in _sentences(result, points, b, peer, ours)]
    if none:
        sentences = ["No measurement, so nothing was fitted: a guest whose CPU is emulated says nothing of speed."]
    result["told"] = {"sentences": sentences, "tables": [_table(points, peer, ours, none)] + ([] if none else _tries(result))}


def _ratios(result, arms, peer):
    """{who: IOPS against the peer's}: the median of runs made after each other, as both have what disturbed them."""
    out = {}
    for who, arm in arms.items():
        theirs, ours = rounds.pairs(result, arms[peer], arm, "iops")
        out[who] = (statistics.median(b / a for a, b in zip(theirs, ours)) if theirs
                    else shape.value(arm, "iops") / shape.value(arms[peer], "iops"))
    return out


def _percent(share):
    return f"{100 * share:.1f} %"


def _costs(found):
    return f"--request-cost {found[0]}ns --wakeup-cost {found[1]}ns"


def _span(interval):
    return f"{interval[0]} to {interval[1]} ns"


def _sentences(result, points, backend, peer, ours):
    mine = [(place, ratios) for place, _, ratios in points if place["backend"] == backend]
    errors, found = result["match"]["errors"][backend], result["match"]["costs"][backend]
    out = [f"{backend}: over {len(mine)} points the target's IOPS are off those of {peer} by {_percent(errors[match.TARGET])} as it is (median)"]
    if match.FITTED in ours:
        out[0] += f", by {_percent(errors[match.FITTED])} with {_costs(found)}"
        worst = max(mine, key=lambda p: abs(p[1][match.FITTED] - 1))
        out.append(f"{backend}: the worst point is {shape.full({k: v for k, v in worst[0].items() if k != 'backend'})}, where the fitted "
                   f"target has {worst[1][match.FITTED]:.2f} times the IOPS of {peer}.")
        if errors[match.FITTED] > AIM:
            out.append(f"{backend}: {_percent(AIM)} was aimed at: these two costs do not make the target like {peer}.")
    known = result["match"].get("intervals", {}).get(backend)
    if known:
        out.append(f"{backend}: request cost {found[0]} ns (95 % CI {_span(known[0])}), wake-up cost {found[1]} ns (95 % CI {_span(known[1])}).")
    slower = [place for place, ratios in mine if ratios[match.TARGET] < 0.97]
    out[0] += "."
    if slower:
        out.append(f"{backend}: at {len(slower)} of {len(mine)} points the target is slower than {peer} with no cost at all; costs cannot mend that.")
    return out


def _table(points, peer, ours, none):
    names = list(points[0][0])
    top, head = [""] * len(names) + ["IOPS"] + [""] * (2 * len(ours)), [*names, peer]
    for who in ours:
        head += [who, "ratio"]
    top += ["target CPU us per I/O"] + [""] * len(ours)
    head += [peer, *ours]
    rows = []
    for place, arms, ratios in points:
        row = [*place.values(), _figure(arms[peer], none)]
        for who in ours:
            row += [_figure(arms[who], none), "-" if none else f"{ratios[who]:.2f}"]
        rows.append(row + [units.short(shape.value(arms[who], "target_us_per_io")) for who in (peer, *ours)])
    return {"title": "Point by point", "optional": list(range(len(head) - 1 - len(ours), len(head)))[::-1], "top": top, "head": head, "rows": rows,
            "note": f"A ratio is the target's IOPS against those of {peer}, the median of runs made after each other; '{match.TARGET}' is ours as it is"
                    + (f", '{match.FITTED}' ours with the fitted costs." if match.FITTED in ours else ".")}


def _figure(arm, none):
    text = units.short(shape.value(arm, "iops"))
    return f"({text})" if none else text + ("!" if arm["marked"] else "")


def _tries(result):
    """What was tried on the way, from runs that do not count."""
    rows = [[s["backend"], str(s["step"]), str(s["request_cost_ns"]), str(s["wakeup_cost_ns"]), _percent(s["error"])]
            for s in sorted(result["match"]["steps"], key=lambda s: s["backend"])]
    if not rows:
        return []
    return [{"title": "Costs tried", "top": [""] * 5, "head": ["backend", "step", "request ns", "wake-up ns", "median error"], "rows": rows,
             "note": "One run of each point a step, none of which counts above; what the costs came to was learnt from all of them."}]
