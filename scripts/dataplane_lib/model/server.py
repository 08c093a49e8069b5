# SPDX-License-Identifier: GPL-2.0-only
"""What serves an arm: a target of ours with its options, or any command line."""

import shlex
import signal
import string
from dataclasses import dataclass, field, replace

from . import guest_arm
from ..errors import Refused

KEYS = {"program", "options", "command", "ready", "stop", "clients", "uri"}
READY = ("listen", "connect")
_SIGNALS = ("TERM", "INT", "QUIT", "KILL")
UNIX_URI = "nbd+unix:///?socket=$socket"


@dataclass
class Server:
    """PROGRAM of build/targets with OPTIONS, or COMMAND, a list of words; the program "guest" is a QEMU in whose guest the job runs.

    READY says when it may be used: somebody listens on $socket, or a connection to it (or to $port)
    comes about. STOP is the signal that ends it, CLIENTS how many it serves at a time (0: all).
    """
    program: str | None = None
    options: list = field(default_factory=list)
    command: list | None = None
    ready: str = "listen"
    stop: str = "TERM"
    clients: int = 0
    uri: str = UNIX_URI

    def changed(self, table, where):
        """This server with what TABLE (of a study.toml) says about it; WHERE is for messages."""
        out = replace(self)
        if "program" in table:
            out.program, out.command = str(table["program"]), None
            if out.program == guest_arm.PROGRAM != self.program:
                out.options = []    # those of [target] are for another program
        if "command" in table:
            out.command, out.program, out.options = _split(table["command"], where), None, []
        if "options" in table:
            if out.program is None:
                raise Refused(f"{where}: options: not available with a command; write them into the command")
            out.options = merge_options(out.options, _split(table["options"], where))
        for key, accepted in (("ready", READY), ("stop", _SIGNALS)):
            value = table.get(key, getattr(out, key))
            if value not in accepted:
                raise Refused(f"{where}: {key}={value}: accepted: {', '.join(accepted)}")
            setattr(out, key, value)
        out.clients = table.get("clients", out.clients)
        if not isinstance(out.clients, int) or out.clients < 0:
            raise Refused(f"{where}: clients={out.clients}: expected how many clients it serves at a time, 0 for all")
        out.uri = str(table.get("uri", out.uri))
        return out

    @property
    def signal(self):
        return getattr(signal, "SIG" + self.stop)

    def guest(self, names=None):
        """The Guest in which the job runs, None where that is on this host; NAMES is what $names stand for."""
        if self.program != guest_arm.PROGRAM:
            return None
        return guest_arm.parse([fill(word, names or {}) for word in self.options], "guest")

    def target(self):
        """What has to be started before fio, or its guest, is: a Server; None where QEMU serves the disk itself."""
        guest = self.guest()
        if guest is None:
            return self
        if guest.disk != "vhost-user-blk":
            return None
        return replace(self, program=guest_arm.TARGET, options=guest.rest)

    def uses(self, name):
        """True if $NAME stands somewhere in the command line or the URI."""
        return any(name in names_in(w) for w in [*self.options, *(self.command or []), self.uri])


def _split(text, where):
    try:
        return shlex.split(str(text))
    except ValueError as err:
        raise Refused(f"{where}: {text}: {err}") from None


def names_in(text):
    """The $names that TEXT uses."""
    found = set()
    for match in string.Template.pattern.finditer(text):
        found.add(match["named"] or match["braced"])
    return found - {None}


def fill(text, names):
    """TEXT with $name and ${name} replaced where NAMES has them."""
    return string.Template(text).safe_substitute(names)


def options(words):
    """{name: value} of a target's options, the last one of each: WORDS are words or one text."""
    words = shlex.split(words) if isinstance(words, str) else words
    out, name = {}, None
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            out[name] = value
        elif name:
            out[name] = f"{out[name]} {word}".strip()
    return out


def merge_options(base, override):
    """BASE with the options that OVERRIDE names replaced, the others kept."""
    def pairs(tokens):
        out = []
        for token in tokens:
            if token.startswith("--"):
                name, sep, value = token.partition("=")
                out.append([name, value] if sep else [name])
            elif out:
                out[-1].append(token)
            else:
                raise Refused(f"target options: {token}: expected --option first")
        return out
    over = pairs(override)
    named = {p[0] for p in over}
    kept = [p for p in pairs(base) if p[0] not in named]
    return [token for pair in kept + over for token in pair]
