# SPDX-License-Identifier: GPL-2.0-only
"""What is known of one run, from the files that it left while its study went on."""

import os
from pathlib import Path

from .. import files
from . import cpu_series, fiojson, latency_logs, samples
from ..errors import RunFailed


def facts(directory):
    """The facts about the run in DIRECTORY, as docs/results-format.md has them; RunFailed where it failed."""
    directory = Path(directory)
    record = files.read_json(directory / "run.json")
    if record["status"] != "complete":
        raise RunFailed(record.get("reason", record["status"]))
    doc = fiojson.load(directory / "fio.json")
    out = {"name": directory.name, **record, "fio_command": record.get("fio"), "fio": fiojson.kept(doc),
           "target_stats": _json(directory / "target-stats.json"),
           "engine_stats": [files.read_json(path) for path in sorted(directory.glob("engine.*.json"))],
           "cpu": cpu_series.packed(_json(directory / "cpu.json")), "qemu_cpu": cpu_series.packed(_json(directory / "qemu-cpu.json")),
           "iops_log": samples.load(directory, "job", record.get("sample_ms", 1000)),
           "latency_log": latency_logs.load(directory, doc), "trace": _json(directory / "trace.json")}
    return _without(out, _places(directory, record))


def _json(path):
    return files.read_json(path) if path.exists() else None


def _places(directory, record):
    """{path: name} of what exists no more, or elsewhere, when the result is read."""
    out = {str(directory.parent.parent): "$result"}
    private = os.path.dirname(record.get("environment", {}).get("socket", ""))
    return {private: "$private", **out} if private else out


def _without(value, places):
    """VALUE with the PLACES in it by their names."""
    if isinstance(value, str):
        for path, name in places.items():
            value = value.replace(path, name)
        return value
    if isinstance(value, dict):
        return {k: _without(v, places) for k, v in value.items()}
    return [_without(v, places) for v in value] if isinstance(value, list) and value and not isinstance(value[0], (int, float)) else value
