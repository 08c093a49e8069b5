# SPDX-License-Identifier: GPL-2.0-only
"""The one exception a user sees: a sentence on one line, exit status 1."""


class Refused(Exception):
    """Something was asked that cannot be done, or a result cannot be trusted."""


class RunFailed(Refused):
    """One run went wrong; the study it belongs to is over."""
