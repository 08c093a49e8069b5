# SPDX-License-Identifier: GPL-2.0-only
"""One self-contained HTML page: words, picture, tables, settings, host."""

import re
from html import escape

from . import shape, summary, table, units, verdict_table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p.question { color: #555; margin-top: 0 }
ul.summary { background: #f1f5fa; border-left: 4px solid #1f5fa8; padding: .8rem 1rem .8rem 2.2rem }
ul.warnings { background: #fdf4e7; border-left: 4px solid #d0662a; padding: .8rem 1rem .8rem 2.2rem }
div.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .15rem .42rem; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap }
th { border-bottom: 2px solid #999 } th.group { border-bottom: none; text-align: left; color: #555; font-weight: normal }
th.word, td.word { text-align: left } tr.baseline { background: #f3f3f3 }
table.facts td { text-align: left; white-space: normal } table.facts td:first-child { color: #555; white-space: nowrap }
code { font-size: .85rem; overflow-wrap: anywhere } svg { width: 100%; height: auto }
"""


_SAMPLES = ("Samples are IOPS of all jobs at work, one a second unless the study says otherwise, those of all runs together; 'max/min' "
            "is the fastest job against the slowest. CPU and context switches of the target are those of the whole "
            "process and its children, sampled while the jobs ran.")


def write(result, svg, path):
    """Write the page to PATH with the picture SVG inside."""
    path.write_text(render(result, svg.read_text(encoding="utf-8")), encoding="utf-8")


def render(result, svg):
    """The page's text."""
    study = result["study"]
    title = study["title"] or study["name"]
    parts = [f"<h1>{escape(title)}</h1>"]
    if study["question"]:
        parts.append(f'<p class="question">{escape(study["question"])}</p>')
    parts.append(_list(summary.sentences(result), "summary"))
    if result["warnings"]:
        parts.append(_list(result["warnings"], "warnings"))
    if "verdict" in result:
        parts += ["<h2>Verdict</h2>", _words(*verdict_table.table(result)), f"<p>{escape(verdict_table.legend(result))}</p>"]
        spans = verdict_table.percentiles(result)
        parts += [_words(*spans), "<p>Percentiles of all runs' histograms added up, with the interval over runs.</p>"] if spans else []
    parts.append(_inline(svg))
    both = table.side_by_side(result)
    if both:
        parts += ["<h2>Side by side</h2>", _table(both[:2], both[2])]
    top, head, rows = table.full(result)
    parts += ["<h2>All figures</h2>", _table([top, head], rows), f"<p>{escape(_legend(result))}</p>"]
    steady = table.sampled(result)
    if steady:
        parts += ["<h2>How steady, and at what cost</h2>", _table(steady[:2], steady[2]),
                  f"<p>{escape(_SAMPLES)}</p>"]
    if study["look_for"]:
        parts += ["<h2>What to look for</h2>", _paragraphs(study["look_for"])]
    parts += ["<h2>How it was run</h2>", _facts(_settings(result)),
              "<h2>Host</h2>", _facts(result["host"])]
    body = "\n".join(parts)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n<title>{escape(title)}</title>\n'
            f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n")


def _inline(svg):
    """The picture without its XML prologue."""
    return re.sub(r"\A.*?(?=<svg)", "", svg, flags=re.S)


def _list(items, kind):
    lines = "\n".join(f"<li>{escape(text)}</li>" for text in items)
    return f'<ul class="{kind}">\n{lines}\n</ul>'


def _paragraphs(text):
    return "\n".join(f"<p>{escape(p)}</p>" for p in text.split("\n\n"))


def _table(heads, rows):
    words = [rows[-1][i][:1].isalpha() for i in range(len(rows[0]))]
    out = ['<div class="wide"><table>']
    out.append("<tr>" + "".join(_groups(heads[0])) + "</tr>")
    out.append("<tr>" + "".join(_cell("th", c, w) for c, w in zip(heads[1], words)) + "</tr>")
    for row in rows:
        mark = ' class="baseline"' if "baseline" in row else ""
        out.append(f"<tr{mark}>" + "".join(_cell("td", c, w) for c, w in zip(row, words)) + "</tr>")
    return "\n".join(out + ["</table></div>"])


def _words(head, rows):
    """A table of words and short figures."""
    lines = ["".join(_cell("th", c, True) for c in head)]
    lines += ["".join(_cell("td", c, True) for c in row) for row in rows]
    return '<div class="wide"><table>' + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table></div>"


def _groups(head):
    """Headings that span the empty cells after them."""
    spans = []
    for text in head:
        if text or not spans:
            spans.append([text, 1])
        else:
            spans[-1][1] += 1
    return [f'<th class="group" colspan="{n}">{escape(t)}</th>' for t, n in spans]


def _cell(tag, text, word):
    return f'<{tag}{" class=" + chr(34) + "word" + chr(34) if word else ""}>{escape(str(text))}</{tag}>'


def _facts(facts):
    lines = "\n".join(f"<tr><td>{escape(k)}</td><td>{_value(v)}</td></tr>" for k, v in facts.items())
    return f'<table class="facts">\n{lines}\n</table>'


def _value(value):
    if isinstance(value, tuple):
        return f"<code>{escape(value[0])}</code>"
    return escape(str(value))


def _legend(result):
    runs = result["study"]["repeats"]
    text = (f"Median of {runs} runs with the lowest and the highest; latency is fio's total latency (lat), its "
            "percentiles from the merged histograms of all runs. ")
    if any(shape.value(a, "target_cpu") is not None for a in result["arms"]):
        text += ("Target CPU is that of all its threads, sampled in the steady part of each run, 100 % being one CPU; "
                 "'sleep' counts its sleeps per I/O, 'kicks' and 'calls' the notifications to the target and to fio.")
    return text


def _settings(result):
    """The settings as they were after the command line had its say."""
    study = result["study"]
    out = {"command": (result["command"],), "job file": study["job"]}
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
    out["warm-up runs"] = f"{study['warmup']}, thrown away"
    out["order"] = (f"{study['repeats']} rounds over all arms, every other one backwards; "
                    "a fresh target each run")
    cpus = result["cpus"]
    out["CPUs"] = (f"fio's job on {cpus['fio']}, target on {cpus['target']}"
                   if cpus["pinned"] else "not pinned")
    if result["rtt_ns"]:
        out["cache-line round trip"] = _rtt(result)
    out["steal"] = f"{result['steal_percent']:.2f} % of CPU time during the study"
    out["started, took"] = f"{result['started']}, {units.duration(result['took_s'])}"
    return out


def _rtt(result):
    found = [r["rtt"][k] for r in result["runs"] for k in ("before", "after")]
    return (f"median {result['rtt_ns']:.0f} ns ({min(found):.0f} to {max(found):.0f}), "
            "measured before and after every run")
