# SPDX-License-Identifier: GPL-2.0-only
"""What a user may see go wrong, and the exit status that scripts see.

0 is success and 1 only a measured regression (--fail-if), so that a script never takes a mistake for a result; see docs/exit-codes.md.
"""

import difflib

REGRESSION, USAGE, NOT_MEASURED, INCONCLUSIVE, INTERRUPTED = 1, 2, 3, 4, 130
# For git bisect run: leave this commit out; end the bisection.
SKIP, ABORT = 125, 129
# What a shell reports of a program whose reader went away (128 + SIGPIPE).
READER_GONE = 141


class Refused(Exception):
    """Something was asked for that cannot be done: the command line, a study or a job file has to change.

    Each line of the message is a fault of its own.
    """
    status = USAGE


class CommandLine(Refused):
    """A mistake in the command line itself, which is the same for every commit of a bisection."""


class NotMeasured(Refused):
    """The question is sound, but this machine or this result gives no answer: a missing program, a failed run."""
    status = NOT_MEASURED


class RunFailed(NotMeasured):
    """One run went wrong; the study it belongs to is over."""


class Faults:
    """Collects refusals, so that all of them are reported at once: call check() for each, raise_any() at the end."""

    def __init__(self):
        self.found = []

    def add(self, text):
        """Another fault, in one line."""
        if text not in self.found:
            self.found.append(text)

    def check(self, function, *args):
        """FUNCTION(*ARGS), None where it refuses."""
        try:
            return function(*args)
        except NotMeasured:
            raise
        except Refused as err:
            for line in str(err).splitlines():
                self.add(line)
            return None

    def raise_any(self, kind=Refused):
        """Raise KIND if there was any fault."""
        if self.found:
            raise kind("\n".join(self.found))


def near(word, known):
    """'; did you mean X?' where a name of KNOWN is much like WORD, else nothing."""
    found = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
