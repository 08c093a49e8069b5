# SPDX-License-Identifier: GPL-2.0-only
"""What fio says its options are, and those of its engines."""

import re
from functools import cache

from ..host import system


@cache
def options_of(engine):
    """Names of the options that only ENGINE has; none of one that does not load."""
    if not engine:
        return frozenset()
    lines = system.lines(["fio", f"--enghelp={engine.removeprefix('external:')}"])
    return frozenset(match[1] for line in lines if (match := re.match(r"(\w+)\s*:", line)))


@cache
def is_option(name):
    """Is NAME an option that every job may have?"""
    return bool(re.fullmatch(r"\w+", name)) and any(line.startswith(f"{name}:") or line.startswith(f"{name} ") for line in system.lines(["fio", f"--cmdhelp={name}"]))
