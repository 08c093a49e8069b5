# SPDX-License-Identifier: GPL-2.0-only
"""What every command that measures does in the end: the runs, then their report."""

from . import options
from ..errors import Refused


def execute(chosen, args, course=None):
    """Run the study CHOSEN as ARGS say, in the order of COURSE if there is one, and report it; returns (the result's directory, exit status)."""
    from ..report import write  # see options.view()
    from ..run import session
    made = session.Session(chosen, args.argv, args.out, args.cpus, course, args.keep_raw)
    try:
        made.run()
    except (Refused, KeyboardInterrupt):
        write.refused(made.place, made.meta)
        raise
    result = write.report(made.place, options.view(args))
    return made.place, result.get("gate", {}).get("status", 0)
