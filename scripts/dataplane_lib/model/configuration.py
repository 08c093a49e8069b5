# SPDX-License-Identifier: GPL-2.0-only
"""What an arm comes to once defaults are known: which arms are one configuration."""

import re

from .. import paths, units
from ..errors import Refused
from ..host import system
from . import guest_arm, server

# Options of the target that its other polling policies have no use for; a policy that is not named here uses all.
_WINDOW = {"poll-max-ns"}
_QEMU = _WINDOW | {"poll-grow", "poll-shrink"}
_RATE = {"poll-start-rate", "poll-stop-idle"}
_POLLING = _QEMU | _RATE | {"poll-weight"}
_USES = {"off": set(), "busy": set(), "fixed": _WINDOW, "fixed-1024": _WINDOW, "adaptive": _QEMU, "per-source": _QEMU,
         "weighted": _QEMU | {"poll-weight"}, "rate": _RATE,
         "inflight": set(), "hybrid": _WINDOW}
_DEFAULT = re.compile(r"\(default:? ([^\s,)]+)\)")


def defaults(program):
    """{option: its default} of the target PROGRAM, as its --help gives them; empty where it has none."""
    text = {}
    name = None
    for line in system.lines([str(paths.dataplane_dir() / "targets" / program), "--help"]):
        if line.startswith("--"):
            name = line[2:].split()[0]
            text[name] = line
        elif name and line and not line.endswith(":"):
            text[name] += " " + line
        else:
            name = None
    return {name: found[1] for name, words in text.items() if (found := _DEFAULT.search(words))}


def options(words, known):
    """{option: value} of a target's command line WORDS, without what is so by default (KNOWN) or means nothing beside the rest."""
    out = server.options(words)
    policy = out.get("poll", known.get("poll"))
    idle = _POLLING - _USES.get(policy, _POLLING)
    return {k: _plain(v) for k, v in out.items() if k not in idle and (k not in known or _plain(v) != _plain(known[k]))}


def _plain(value):
    """4k and 4096 are one value."""
    number = units.number(value)
    return value if number is None else number


class Configurations:
    """Tells arms of CHOSEN, a Study, apart by what they run."""

    def __init__(self, chosen):
        self._chosen = chosen
        self._known = {}

    def of(self, arm):
        """What ARM comes to; the same for two arms that run the same."""
        setup = self._chosen.setup(arm)
        serving = setup.server
        values = sorted((k, server.fill(v, arm.values)) for k, v in setup.variables.items())
        if not setup.has_server():
            return repr((setup.job, values))
        if serving.command is not None or serving.program == guest_arm.PROGRAM:
            words = [server.fill(word, arm.values) for word in serving.command or [serving.program, *serving.options]]
            return repr((setup.job, values, words, serving.uri))
        found = options([server.fill(word, arm.values) for word in serving.options], self._defaults(serving.program))
        return repr((setup.job, values, serving.program, sorted(found.items(), key=str)))

    def _defaults(self, program):
        if program not in self._known:
            self._known[program] = defaults(program)
        return self._known[program]

    def fold(self):
        """Leave out arms that run what one before them runs; Study.skipped says which. Refused where nothing else is left to compare."""
        first, twice = {}, []
        for arm in self._chosen.arms():
            key = self.of(arm)
            if key in first and not arm.baseline:
                twice.append((arm, first[key]))
            first.setdefault(key, arm)
        self._chosen.skipped += [{"name": arm.name, "values": arm.values, "why": f"the same configuration as {same.name}"} for arm, same in twice]
        if twice and not any(not arm.baseline for arm in self._chosen.arms()):
            arm, same = twice[0]
            raise Refused(f"{arm.name} is the same configuration as {same.name}, and no other arm is left to compare")
