# SPDX-License-Identifier: GPL-2.0-only
"""One self-contained HTML page: words, pictures, tables, settings, host, and links to every raw file beside it."""

import os
import shlex
from html import escape
from pathlib import Path
from urllib.parse import quote

from .. import files, paths, units
from ..judge import summary
from ..model import shape
from ..read import store
from . import page_table, table, verdict_table

_SAMPLES = ("Samples are IOPS of all jobs at work, one a second unless the study says otherwise, those of all runs together; 'max/min' "
            "is the fastest job against the slowest. CPU and context switches of the target are those of the whole "
            "process and its children, sampled while the jobs ran.")
# What lies beside the page, in the order in which one would ask for it.
_FILES = ("job.fio", "study.toml", store.FILE, "meta.json", "result.json", "result.csv", "plot.svg", "plot.png")
# Of a sentence of more characters than this only so many of its parts are shown.
_LONG, _FIRST = 600, 4


def write(result, pictures, path):
    """Write the page to PATH, in the directory of the result, with PICTURES inside."""
    files.write_whole(path, render(result, pictures, path.parent))


def render(result, pictures, place):
    """The page's text; PLACE is where it will be, and what is there is linked."""
    study = result["study"]
    title = study["title"] or study["name"]
    parts = _head(title, study["question"])
    parts.append(_list(summary.sentences(result), "summary"))
    if result["warnings"]:
        parts.append(_list(result["warnings"], "warnings"))
    if "verdict" in result:
        heads, rows = verdict_table.table(result)
        parts += ["<h2>Verdict</h2>", page_table.table(None, heads, rows), _note(verdict_table.legend(result))]
        spans = verdict_table.percentiles(result)
        if spans:
            parts += [page_table.table(None, *spans), _note("Percentiles of all runs' histograms added up, with the interval over runs.")]
    for one in result.get("told", {}).get("tables", ()):
        parts += [f"<h2>{escape(one['title'])}</h2>", page_table.table(one["top"], one["head"], one["rows"]), _note(one["note"])]
    parts += ["<h2>Pictures</h2>", *map(_picture, pictures)]
    both = table.side_by_side(result)
    if both:
        parts += ["<h2>Side by side</h2>", page_table.table(*both)]
    parts += ["<h2>All figures</h2>", page_table.table(*table.full(result)), _note(_legend(result))]
    steady = table.sampled(result)
    if steady:
        parts += ["<h2>How steady, and at what cost</h2>", page_table.table(*steady), _note(_SAMPLES)]
    if study["look_for"]:
        parts += ["<h2>What to look for</h2>", _paragraphs(study["look_for"])]
    parts += ["<h2>How it was run</h2>", _facts(_settings(result)), "<h2>Host</h2>", _facts(result["host"]),
              "<h2>To do it again</h2>", _again(result, place), "<h2>Files</h2>", _links(place, _FILES), _runs(result, place)]
    return _document(title, parts)


def write_refused(meta, reason, path):
    """Write a page to PATH that says that this result is none, and where to look why."""
    study = meta["study"]
    title = study["title"] or study["name"]
    parts = _head(title, study["question"])
    parts += [_list([f"This is no result: {reason}", "What there is of figures is in the raw files, and cannot be trusted."], "warnings"),
              "<h2>Host</h2>", _facts(meta["host"]), "<h2>To do it again</h2>", f"<pre>{escape(meta['command'])}</pre>",
              "<h2>Files</h2>", _links(path.parent, _FILES[:4]), _raw(path.parent, [])]
    files.write_whole(path, _document(title, parts))


def _document(title, parts):
    own = Path(__file__).parent
    style, script = ((own / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    body = "\n".join(part for part in parts if part)
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body>\n{body}\n<script>\n{script}</script>\n</body></html>\n")


def _head(title, question):
    return [f"<h1>{escape(title)}</h1>", f'<p class="question">{escape(question)}</p>' if question else ""]


def _picture(picture):
    return f"<figure>{picture.wide}{picture.narrow}<figcaption>{escape(picture.caption)}</figcaption></figure>"


def _list(items, kind):
    lines = "\n".join(f"<li>{_sentence(text)}</li>" for text in items)
    return f'<ul class="{kind}">\n{lines}\n</ul>'


def _sentence(text):
    """A sentence; of a long list in it only the start is shown at once."""
    parts = text.split("; ")
    if len(text) <= _LONG or len(parts) <= _FIRST + 1:
        return escape(text)
    start, rest = "; ".join(parts[:_FIRST]), parts[_FIRST:]
    return f"{escape(start)}; <details><summary>and {len(rest)} more</summary>{escape('; '.join(rest))}</details>"


def _note(text):
    return f'<p class="note">{escape(text)}</p>'


def _paragraphs(text):
    return "\n".join(f"<p>{escape(p)}</p>" for p in text.split("\n\n"))


def _facts(facts):
    lines = "\n".join(f"<tr><td>{escape(k)}</td><td>{_value(v)}</td></tr>" for k, v in facts.items())
    return f'<table class="facts">\n{lines}\n</table>'


def _value(value):
    if isinstance(value, tuple):
        return f"<code>{escape(value[0])}</code>"
    return escape(str(value))


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
    out["one run"] = f"{study['ramp']:g} s ramp, {study['runtime']:g} s measured"
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


def _seed(result):
    """' (seed 7)'; results from before the order was drawn have none."""
    return f" (seed {result['seed']})" if "seed" in result else ""


def _rtt(result):
    found = [r["rtt"][k] for r in result["runs"] for k in ("before", "after")]
    return (f"median {result['rtt_ns']:.0f} ns ({min(found):.0f} to {max(found):.0f}), "
            "measured before and after every run")


def _again(result, place):
    """The command that made this, and the one that makes the page anew."""
    with_what = [f"{name}{result['host'][key]}" for name, key in (("fio-dataplane at ", "fio-dataplane"), ("", "fio"))
                 if result["host"].get(key)]
    out = f"<pre>{escape(result['command'])}</pre>" + (_note(f"It was made with {', '.join(with_what)}.") if with_what else "")
    if store.holds_result(place):
        # A result under results/ is known by its name.
        name = escape(shlex.quote(place.name if place.parent == paths.results() else str(place)))
        out += f"<p>This page anew from its runs, and latency distributions of it:</p><pre>dataplane report {name}\n"
        out += f"dataplane percentiles {name}</pre>"
    return out


def _link(path, text):
    return f'<a href="{quote(path)}">{escape(text)}</a>'


def _links(place, names):
    found = [_link(name, name) for name in names if (place / name).exists()]
    # Job files of choices lie beside the study's own.
    found += [_link(p.name, p.name) for p in sorted(place.glob("*.fio")) if p.name not in names]
    return f"<p class=\"files\">{' '.join(found)}</p>" if found else ""


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
        files = " ".join(_link(f"{name}/{file}", file) for file in sorted(os.listdir(directory))) if directory.is_dir() else "gone"
        cells.append([Path(name).name, *_run(run, key), *([page_table.Html(files)] if kept else [])])
    if not cells:
        return ""
    heads = ["run", *page_table.run_heads(key), *(["raw files"] if kept else [])]
    return (f'<details class="screen"><summary>Every run{" and its raw files" if kept else ""} ({len(cells)})</summary>'
            f"{page_table.table(None, heads, cells)}</details>")


def _run(run, key):
    """What is told of a run; a warm-up has no figures here."""
    if key is None:
        return []
    if run is None:
        return ["", "", "", "", "not counted"]
    before, after = (run["rtt"][k] for k in ("before", "after"))
    return [units.short(run["metrics"].get(key), 4), *("-" if v is None else f"{v:.0f}" for v in (before, after)),
            f"{run['foreign']:.0f}", "; ".join(run["marks"])]
