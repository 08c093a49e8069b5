# SPDX-License-Identifier: GPL-2.0-only
"""dataplane export: every run of a result as a row, for pandas and spreadsheets."""

import csv
import json
import math
import sys

from ..host import system
from ..model import metrics
from ..read import digest, store
from ..errors import Refused


def rows(result):
    """A dict for each counted run, in the order they were made; all have the same keys."""
    names = list(dict.fromkeys(k for arm in result["arms"] for k in arm["values"]))
    arms = {arm["name"]: arm for arm in result["arms"]}
    host, primary, out = result["host"], result["study"]["primary"], []
    made = {"date": result["started"], "commit": host.get("fio-dataplane", ""), "fio": host.get("fio", ""), "host": system.fingerprint(host),
            "study": result["study"]["name"], "primary": primary}
    for run in result["runs"]:
        arm = arms[run["arm"]]
        row = {"run": run["directory"], "arm": run["arm"], "repeat": run["repeat"], "baseline": arm["baseline"],
               "no_measurement": run.get("no_measurement", ""), **made, **_interval(result, arm, primary)}
        row.update({f"factor_{name}": arm["values"].get(name) for name in names})
        row.update({key: run["metrics"].get(key) for key in (result["study"]["primary"], *metrics.BY_KEY)})
        row.update(rtt_before_ns=run["rtt"]["before"], rtt_after_ns=run["rtt"]["after"],
                   foreign_cpu=run["foreign"], marks="; ".join(run["marks"]))
        out.append(row)
    return out


def _interval(result, arm, primary):
    """The change of the arm's primary metric against its baseline, in % (or in its unit where it is 0 somewhere), with its interval."""
    if "verdict" in result:
        line = result["verdict"]["lines"][0] if arm["name"] != arm["against"] else None
    else:
        line = arm.get("verdict", {}).get(primary)
    return {f"change{end}": line[key] if line and math.isfinite(line[key]) else None for end, key in (("", "estimate"), ("_low", "low"), ("_high", "high"))}


def _judged(stored):
    """The digest of STORED with its intervals."""
    found = digest.digest(stored)
    if "ab" in found:
        from ..judge import ab
        ab.judge(found, stored)
    else:
        from ..judge import arms
        arms.judge(found)
    return found


def export(directory, as_json, out):
    """Write the rows of the result in DIRECTORY to the file OUT, stdout if None."""
    found = rows(_judged(store.load(directory)))
    try:
        with open(out, "w", newline="", encoding="utf-8") if out else _Stdout() as file:
            (_json if as_json else _csv)(found, file)
    except OSError as err:
        if isinstance(err, BrokenPipeError):
            raise
        raise Refused(f"--out {out}: {err.strerror}") from None


def _json(found, file):
    json.dump(found, file, indent=1)
    file.write("\n")


def _csv(found, file):
    writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)


class _Stdout:
    """sys.stdout, not closed at the end."""

    def __enter__(self):
        return sys.stdout

    def __exit__(self, *_):
        sys.stdout.flush()
