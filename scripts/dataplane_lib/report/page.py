# SPDX-License-Identifier: GPL-2.0-only
"""One self-contained HTML page: words, pictures, tables, settings, host, and links to every raw file beside it."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from .. import files, paths, units
from ..judge import summary
from ..model import device, shape
from ..read import store
from . import page_table, picture, table, verdict_table

_SAMPLES = ("Samples are IOPS of all jobs at work, one a second unless the study says otherwise, those of all runs together; 'max/min' "
            "is the fastest job against the slowest. CPU and context switches of the target are those of the whole "
            "process and its children, sampled while the jobs ran.")
# What is beside the page, what is asked for most first.
_FILES = ("job.fio", "study.toml", store.FILE, "meta.json", "result.json", "result.csv", "plot.svg", "plot.png", "stages.svg", "stages.png")
# Of a sentence of more characters than this only so many of its parts are shown.
_LONG, _FIRST = 600, 4


def write(result, pictures, path):
    """Write the page to PATH, in the directory of the result, with PICTURES inside."""
    files.write_whole(path, render(result, pictures, path.parent))


def render(result, pictures, place):
    """The page's text: conclusions, one picture, then the rest; PLACE is where it will be, and what is there is linked."""
    study = result["study"]
    return _rendered("page.html.j2", **_titled(study, result.get("has_target", True)), conclusions=_sentences(result.get("gate", {}).get("sentences", []) + summary.sentences(result)),
                     warnings=_sentences(result["warnings"]), tables=_tables(result), look_for=[p for p in study["look_for"].split("\n\n") if p],
                     pictures=[picture.Picture(one.caption, Markup(one.svg)) for one in pictures],
                     settings=_facts(_settings(result)), host=_facts(result["host"]), command=result["command"], versions=_versions(result),
                     again=_again(place), files=_links(place, _FILES), every_run=_runs(result, place))


def write_refused(meta, reason, path):
    """Write a page to PATH that says that this result is none, and where to look why."""
    warnings = [f"Not a result: {reason}", "The figures in the raw files cannot be trusted."]
    files.write_whole(path, _rendered("refused.html.j2", **_titled(meta["study"], meta.get("has_target", True)), warnings=_sentences(warnings),
                                      host=_facts(meta["host"]), command=meta["command"], files=_links(path.parent, _FILES[:4]),
                                      every_run=_raw(path.parent, [])))


def _tables(result):
    """Every table of the result, as the template draws it: what answers the question first."""
    out = []

    def add(one, title="", note=""):
        if one:
            one.note = note or one.note
            out.append(page_table.laid(one, title))
    if "verdict" in result:
        add(verdict_table.table(result), "Verdict")
        add(verdict_table.percentiles(result), "Percentiles", "Of all runs' histograms added up, with the interval over runs.")
    for one in [*(table.told(result) if "told" in result else ()), *table.staged(result)]:
        add(one)
    add(table.side_by_side(result), "Side by side")
    add(table.full(result), "All figures", _legend(result))
    add(table.sampled(result), "Steadiness and cost", _SAMPLES)
    return out


@dataclass
class Sentence:
    """A sentence; of a long list in it only START is shown at once, REST are its other parts."""
    start: str
    rest: list


@dataclass
class Link:
    """A file beside the page."""
    href: str
    name: str


def _rendered(template, **parts):
    own = Path(__file__).parent
    style, script = (Markup((own / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js"))
    looks = jinja2.Environment(loader=jinja2.FileSystemLoader(own), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                               undefined=jinja2.StrictUndefined)
    return looks.get_template(template).render(style=style, script=script, **parts)


def _titled(study, has_target):
    return {"title": study["title"] or study["name"], "question": study["question"], "setup": device.described(study, has_target)}


def _sentences(texts):
    return [_sentence(text) for text in texts]


def _sentence(text):
    parts = text.split("; ")
    if len(text) <= _LONG or len(parts) <= _FIRST + 1:
        return Sentence(text, [])
    return Sentence("; ".join(parts[:_FIRST]), parts[_FIRST:])


def _facts(facts):
    """[(name, text, or (text,) of what a shell would read)]."""
    return [(k, v if isinstance(v, tuple) else str(v)) for k, v in facts.items()]


def _legend(result):
    runs = result["study"]["repeats"]
    text = ((f"Median of {runs} runs with the lowest and the highest" if runs > 1 else "One run an arm")
            + "; latency is fio's total latency (lat), its percentiles from the merged histograms of all runs. ")
    if any(a["marked"] for a in result["arms"]):
        text += "! marks arms with runs that something disturbed, see the list of runs. "
    if any(shape.value(a, "target_cpu") is not None for a in result["arms"]):
        text += ("Target CPU is that of all its threads, sampled in the steady part of each run, 100 % being one CPU; "
                 "'sleep' counts its sleeps per I/O, 'kicks' and 'calls' the notifications to the target and to fio.")
    return text


def _settings(result):
    """The settings as they were after the command line had its say."""
    study = result["study"]
    out = {"job file": study["job"]}
    if study["command"]:
        out["target"] = (" ".join(study["command"]),)
    elif result["has_target"]:
        out["target"] = (" ".join([study["program"], *study["options"]]),)
    for name, values in study["factors"].items():
        out[f"varied: {name}"] = ", ".join(values)
    for factor, values in study.get("choices", {}).items():
        for value in study["factors"].get(factor, ()):
            told = values.get(value, {})
            out[f"{factor}: {value}"] = (" ".join(str(told[k]) for k in ("command", "program", "options", "job") if k in told)
                                         or ", ".join(f"{k}={v}" for k, v in told.get("variables", {}).items())
                                         or "what [target] says",)
    for name, value in study["variables"].items():
        out[f"variable: {name}"] = value
    out["one run"] = f"{_seconds(study['ramp'])} s ramp, {_seconds(study['runtime'])} s measured"
    out.update(_order(result))
    cpus = result["cpus"]
    out["CPUs"] = (f"fio's job on {cpus['fio']}, target on {cpus['target']}"
                   if cpus["pinned"] else "not pinned")
    if result["rtt_ns"]:
        out["cache-line round trip"] = _rtt(result)
    out["steal"] = f"{result['steal_percent']:.2f} % of CPU time during the study"
    out["started, took"] = f"{result['started']}, {units.duration(result['took_s'])}"
    return out


def _order(result):
    study = result["study"]
    if "ab" not in result:
        return {"warm-up runs": f"{study['warmup']}, thrown away",
                "order": ("one round over all arms" if study["repeats"] == 1 else f"{study['repeats']} rounds over all arms")
                + f", in random order{_seed(result)}; a fresh target each run"}
    out = {"order": f"{study['repeats']} pairs, each in random order{_seed(result)}; a fresh target each run"}
    for arm, command in zip("AB", result["ab"].get("set", ())):
        if command:
            out[f"before a run of {arm}"] = (command,)
    if result["ab"].get("restore"):
        out["after it"] = (result["ab"]["restore"],)
    return out


def _seconds(value):
    """A time; '0.5 / 2.0' where results that are compared differ."""
    return value if isinstance(value, str) else f"{value:g}"


def _seed(result):
    """' (seed 7)'; results from before the order was drawn have none."""
    return f" (seed {result['seed']})" if "seed" in result else ""


def _rtt(result):
    found = [r["rtt"][k] for r in result["runs"] for k in ("before", "after")]
    return (f"median {result['rtt_ns']:.0f} ns ({min(found):.0f} to {max(found):.0f}), "
            "measured before and after every run")


def _versions(result):
    """What made it."""
    known = [f"{name}{result['host'][key]}" for name, key in (("fio-dataplane at ", "fio-dataplane"), ("", "fio")) if result["host"].get(key)]
    return f"It was made with {', '.join(known)}." if known else ""


def _again(place):
    """What a result is called on the command line that makes the page anew: one under results/ is known by its name."""
    if not store.holds_result(place):
        return ""
    return shlex.quote(place.name if place.parent == paths.results() else str(place))


def _links(place, names):
    found = [name for name in names if (place / name).exists()]
    # Job files of choices lie beside the study's own.
    found += [p.name for p in sorted(place.glob("*.fio")) if p.name not in names]
    return [Link(quote(name), name) for name in found]


def _runs(result, place):
    """Every run: its figure, what disturbed it, and its files."""
    known = {os.path.normpath(os.path.join("raw", run["directory"])): run for run in result["runs"]}
    return _raw(place, list(known.items()), result["study"]["primary"])


def _raw(place, known, key=None):
    """The runs KNOWN, [(directory, run)], and what else is under raw/ (warm-ups); where their files were kept, with a link to each."""
    kept = (place / "raw").is_dir() or any((place / name).is_dir() for name, _ in known)
    there = {name for name, _ in known}
    rows = [(name, run) for name, run in known]
    if (place / "raw").is_dir():
        rows += [(f"raw/{d.name}", None) for d in sorted((place / "raw").iterdir()) if f"raw/{d.name}" not in there]
    cells = []
    for name, run in sorted(rows, key=lambda row: row[0]):
        directory = place / name
        beside = sorted(os.listdir(directory)) if directory.is_dir() else []
        links = page_table.Html(" ").join(_link(f"{name}/{file}", file) for file in beside) if beside else "gone"
        cells.append([Path(name).name, *_run(run, key), *([links] if kept else [])])
    if not cells:
        return None
    heads = ["run", *page_table.run_heads(key), *(["raw files"] if kept else [])]
    return page_table.laid(table.Table(heads, cells), f"Every run{' and its raw files' if kept else ''} ({len(cells)})")


def _link(path, text):
    return page_table.Html(f'<a href="{quote(path)}">{escape(text)}</a>')


def _run(run, key):
    """What is told of a run; a warm-up has no figures here."""
    if key is None:
        return []
    if run is None:
        return ["", "", "", "", "not counted"]
    before, after = (run["rtt"][k] for k in ("before", "after"))
    return [units.short(run["metrics"].get(key), 4), *("-" if v is None else f"{v:.0f}" for v in (before, after)),
            f"{run['foreign']:.0f}", "; ".join(run["marks"])]
