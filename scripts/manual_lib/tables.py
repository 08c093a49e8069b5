# SPDX-License-Identifier: GPL-2.0-only
"""What the programs say of themselves: targets by --describe, dataplane by its parsers, engines by fio's --enghelp."""

import json
import re
import subprocess
from dataclasses import dataclass, field

from dataplane_lib.cli import main
from dataplane_lib.model import metrics

# The fourth, noop, has no options.
ENGINES = ("nbd", "vhost-user-blk", "virtio-poll")


@dataclass
class Option:
    """NAMES with their dashes (none for what stands by itself); CHOICES where a value can be listed."""
    names: list
    arg: str
    help: str
    choices: list = field(default_factory=list)


@dataclass
class Topic:
    """A heading among options."""
    text: str


@dataclass
class Page:
    """A manual page. Sections are (title, text), where lines that are indented stay as they are."""
    name: str
    version: str
    summary: str
    usage: list
    description: str
    note: str = ""
    options: list = field(default_factory=list)
    sections: list = field(default_factory=list)


@dataclass
class Known:
    """All pages: of dataplane, of its commands (by name), of the targets and of the engines."""
    overview: Page
    commands: dict
    targets: list
    engines: Page

    def pages(self):
        """Each page there is."""
        return [self.overview, *self.commands.values(), *self.targets, self.engines]


def read(build):
    """Known for the programs in the directory BUILD."""
    targets = [_target(path) for path in sorted((build / "targets").glob("*-target"))]
    version = targets[0].version
    parsers = main.commands()
    commands = {name: _command(parser, parsers.texts[name], version) for name, parser in parsers.parsers.items()}
    return Known(_overview(parsers, version), commands, targets, _engines(build / "engines", version))


def _ask(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def _target(path):
    told = json.loads(_ask(str(path), "--describe"))
    options = []
    for o in told["options"]:
        if "topic" in o:
            options.append(Topic(o["topic"]))
            continue
        choices = o.get("choices") or _choices(o.get("arg", ""))
        text = o["help"] + (f" (default {o['default']})" if "default" in o else "")
        options.append(Option([f"--{o['name']}"], o.get("arg") or "|".join(choices), text, choices))
    return Page(told["name"], told["version"], told["summary"], [f"{told['name']} {u}" for u in told["usage"]], told["description"],
                told["note"], options, [(s["title"], s["text"]) for s in told["sections"]])


def _choices(arg):
    """The words in "null|ram|file:PATH", up to what is to be replaced."""
    return [re.sub(r"[A-Z].*", "", word) for word in arg.split("|")] if "|" in arg else []


def _overview(parsers, version):
    listed = []
    for title, names in parsers.groups:
        listed.append(Topic(title[0].upper() + title[1:]))
        listed += [Option([name], "", f"{parsers.texts[name]}; see dataplane-{name}(1)") for name in names]
    return Page("dataplane", version, _summary(parsers.description), ["dataplane COMMAND [OPTION…]", "dataplane --version"],
                parsers.description, options=listed, sections=[
                    ("NOTES", parsers.epilog),
                    ("SEE ALSO", _references([f"dataplane-{name}" for name in parsers.parsers]) + ", " +
                     _references(["vhost-user-blk-target", "nbd-target", "ublk-target", "fio-dataplane-engines", "fio"]))])


def _command(parser, text, version):
    options = []
    for action in parser._actions:  # argparse has no other way to ask what was added
        formatter = parser._get_formatter()
        arg = formatter._format_args(action, formatter._get_default_metavar_for_optional(action)
                                     if action.option_strings else formatter._get_default_metavar_for_positional(action))
        options.append(Option(list(action.option_strings), arg, formatter._expand_help(action), list(action.choices or [])))
    needed = [f"{o.names[0]} {o.arg}" for o, a in zip(options, parser._actions) if o.names and a.required]
    usage = " ".join([parser.prog, "[OPTION…]", *needed, *(o.arg for o in options if not o.names)])
    sections = [("NOTES", parser.epilog)] if parser.epilog else []
    return Page(parser.prog.replace(" ", "-"), version, text, [usage], parser.description, options=options,
                sections=[*sections, ("SEE ALSO", "dataplane(1)")])


def _engines(directory, version):
    options = []
    for name in ENGINES:
        path = directory / f"{name}.so"
        options.append(Topic(f"ioengine=external:${{FIO_DATAPLANE}}/engines/{name}.so"))
        for line in _ask("fio", f"--enghelp={path.resolve()}").splitlines():
            key, sep, text = line.partition(":")
            if sep:
                options.append(_engine_option(path, key.strip(), text.strip()))
    return Page("fio-dataplane-engines", version, "fio engines for NBD, vhost-user-blk and polled virtio queues",
                ["fio --ioengine=external:${FIO_DATAPLANE}/engines/NAME.so [OPTION…]"],
                "Engines that fio loads from a file; \"eval $(dataplane env)\" sets FIO_DATAPLANE. Their options stand in a job file beside fio's own, and fio --enghelp=FILE lists them.",
                options=options, sections=[("SEE ALSO", _references(["fio", "dataplane", "vhost-user-blk-target", "nbd-target", "ublk-target"]))])


def _engine_option(path, name, text):
    """fio's "default:" and "valid values:" of one option, the latter a line each."""
    told = _ask("fio", f"--enghelp={path.resolve()},{name}")
    default = re.search(r"^\s*default: (.*)$", told, re.M)
    _, _, values = told.partition("valid values:")
    choices = []
    for line in values.splitlines():
        word, _, meaning = line.strip().removeprefix(": ").partition(" ")
        if word:
            choices.append(word)
            text += f"; {word}: {meaning.strip()}"
    if default and default[1].strip() not in ("", "no default"):
        text += f" (default {default[1].strip()})"
    return Option([f"{name}="], "|".join(choices) or "VALUE", text, choices)


def _summary(text):
    return text[0].lower() + text[1:].rstrip(".")


def _references(names):
    return ", ".join(f"{name}(1)" for name in names)


def metric_names():
    """Every metric that --primary takes."""
    return [m.key for m in metrics.METRICS]
