# SPDX-License-Identifier: GPL-2.0-only
"""A result for programs: JSON, Markdown for a CI's summary, JUnit's XML; and which of those takes the terminal's place."""

from xml.etree import ElementTree

from .. import files
from ..judge import summary
from ..model import device
from . import table, terminal, verdict_table



def deliver(result, place, view):
    """RESULT, a digest, in the forms that VIEW asks for; PLACE is its directory."""
    if view.junit:
        files.deliver(view.junit, junit(result), "--junit")
    if view.json:
        files.deliver(view.json, as_json(result, place), "--json")
    if view.summary:
        files.deliver(files.STDOUT, markdown(result, place), "--summary")
    if not view.summary and view.json != files.STDOUT:
        terminal.show(result, place, view)


def as_json(result, place):
    """What result.json holds, with where it is."""
    return files.json_text({**result, "directory": str(place)})


def markdown(result, place):
    """Title, what became of the limits, the tables that the terminal has, conclusions, and the warnings folded."""
    study = result["study"]
    out = [f"## {_plain(study['title'] or study['name'])}", "", _plain(device.described(study, result.get("has_target", True))), ""]
    out += [f"- **{_plain(text)}**" for text in result.get("gate", {}).get("sentences", ())]
    out += [f"- {_plain(text)}" for text in summary.sentences(result)]
    for one in _tables(result):
        out += ["", *([f"**{_plain(one.title)}**", ""] if one.title else []), *_rows(one)]
    warnings = result["warnings"]
    if warnings:
        out += ["", f"<details><summary>{len(warnings)} warning{'s' if len(warnings) > 1 else ''}</summary>", "", *(f"- {_plain(w)}" for w in warnings), "", "</details>"]
    facts = [f"{key} {result['host'][key]}" for key in ("fio-dataplane", "fio", "CPU", "kernel") if result["host"].get(key)]
    return "\n".join([*out, "", _plain(f"{result['started']}; {'; '.join(facts)}; {place.name}"), ""])


def _tables(result):
    if "verdict" in result:
        return [verdict_table.table(result), *table.staged(result)]
    return table.told(result)[:1] if "told" in result else [table.main(result), *table.staged(result)]


def _rows(one):
    """A Table in Markdown: headings over several columns are put before those of each."""
    over, head = "", []
    for n, text in enumerate(one.head):
        over = (one.top[n] or over) if any(one.top) else ""
        head.append(f"{over} {text}".strip())
    lines = [head, ["---"] * len(head), *one.rows]
    return ["| " + " | ".join(_plain(str(cell)) for cell in line) + " |" for line in lines]


def _plain(text):
    """TEXT without what Markdown takes for its own."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in text.replace("\n", " "))


def junit(result):
    """A test case a limit; a result without limits is one that passed."""
    study, conditions = result["study"], result.get("gate", {}).get("conditions", [])
    suite = _suite(study["name"], result["started"], result.get("took_s", 0))
    for one in conditions or [{"condition": "measured", "verdict": "kept", "sentence": ""}]:
        case = _case(suite, study["name"], one["condition"])
        if one["verdict"] == "passed":
            ElementTree.SubElement(case, "failure", message=one["sentence"]).text = one["sentence"]
        elif one["verdict"] == "inconclusive":
            ElementTree.SubElement(case, "skipped", message=one["sentence"])
    return _counted(suite)


def junit_error(name, started, reason):
    """The same of a study that could not be measured."""
    suite = _suite(name, started, 0)
    ElementTree.SubElement(_case(suite, name, "measured"), "error", message=str(reason)).text = str(reason)
    return _counted(suite)


def _suite(name, started, seconds):
    return ElementTree.Element("testsuite", name=f"dataplane {name}", timestamp=started.replace(" ", "T"), time=f"{seconds:g}", hostname="localhost")


def _case(suite, study, name):
    return ElementTree.SubElement(suite, "testcase", classname=f"dataplane.{study}", name=name, time="0")


def _counted(suite):
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
