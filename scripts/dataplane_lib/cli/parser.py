# SPDX-License-Identifier: GPL-2.0-only
"""The parser of dataplane's command line: commands in groups, and every mistake answered with what was probably meant."""

import argparse
import re
import sys

from ..errors import USAGE, near
from ..model import metrics

_OPTION = re.compile(r"(--?[A-Za-z][A-Za-z0-9_-]*)(=\S*)?")


class Parser(argparse.ArgumentParser):
    """A mistake is a line on stderr, and exit status 2."""

    def error(self, message):
        message = message.removeprefix("argument ")
        if message.startswith("--primary: expected"):
            message += "; metrics:\n" + metrics.listed()
        self.exit(USAGE, f"{self.prog}: {message}\n")

    def unknown(self, argv):
        """The options in ARGV that this command does not have, each as a sentence."""
        known = [name for action in self._actions for name in action.option_strings]
        given = argv[:argv.index("--")] if "--" in argv else argv
        found = (match[1] for match in map(_OPTION.fullmatch, given) if match)
        return [f"unknown option {name}{near(name, known)}" for name in dict.fromkeys(found) if not self._known(name, known)]

    @staticmethod
    def _known(name, known):
        # -oFILE is -o with its value.
        return name in known or not name.startswith("--") and name[:2] in known


class Commands:
    """Commands in groups, each with a parser of its own."""

    def __init__(self, prog, description, epilog):
        self.prog, self.description, self.epilog = prog, description, epilog
        self.groups, self.parsers, self.texts, self.topics = [], {}, {}, {}

    def group(self, title):
        """The commands that come next stand under TITLE."""
        self.groups.append((title, []))

    def add(self, name, text, run):
        """A parser for the command NAME; RUN(args) is what it does, TEXT says so."""
        parser = Parser(prog=f"{self.prog} {name}", description=text[0].upper() + text[1:] + ".", allow_abbrev=False,
                        formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.set_defaults(run=run)
        self.groups[-1][1].append(name)
        self.parsers[name], self.texts[name] = parser, text
        return parser

    def help(self):
        """The text of --help."""
        width = max(map(len, self.parsers))
        out = [f"usage: {self.prog} COMMAND [OPTION…]", "", self.description, ""]
        for title, names in self.groups:
            out += [f"{title}:", *(f"  {name:<{width}}  {self.texts[name]}" for name in names), ""]
        return "\n".join(out + [self.epilog])

    def parse(self, argv, version):
        """(the command's parser, its arguments); --help, --version and mistakes end the program."""
        if not argv or argv[0] in ("-h", "--help", "help") and len(argv) < 2:
            print(self.help())
            sys.exit(0)
        if argv[0] in ("-h", "--help", "help"):
            self._help_on(argv[1])
        if argv[0] == "--version":
            print(version())
            sys.exit(0)
        name, rest = argv[0], argv[1:]
        if name not in self.parsers:
            what = "option" if name.startswith("-") else "command"
            known = ["--help", "--version"] if what == "option" else self.parsers
            self._fail(f"unknown {what} {name}{near(name, known)}")
        parser = self.parsers[name]
        faults = [] if {"-h", "--help"} & set(rest) else parser.unknown(rest)
        if faults:
            parser.exit(USAGE, "".join(f"{parser.prog}: {text}\n" for text in faults))
        return parser.parse_args(rest)

    def _help_on(self, name):
        """Print what there is about a topic or a command, and end."""
        if name in self.topics:
            print(self.topics[name], end="")
            sys.exit(0)
        if name not in self.parsers:
            self._fail(f"unknown command or topic {name}{near(name, [*self.parsers, *self.topics])}")
        self.parsers[name].print_help()
        sys.exit(0)

    def _fail(self, text):
        sys.stderr.write(f"{self.prog}: {text}; --help lists what there is\n")
        sys.exit(USAGE)
