# SPDX-License-Identifier: GPL-2.0-only
"""What every command that measures does in the end: the runs, then their report."""

from .. import files
from . import options
from ..errors import Refused


def execute(chosen, args, course=None):
    """Run the study CHOSEN as ARGS say, in the order of COURSE if there is one, and report it; returns (the result's directory, exit status)."""
    from ..read import history
    from ..report import machine, write  # see options.view()
    from ..run import session
    view, (nights, keep) = options.view(args), options.history(args)
    if keep:
        # One that cannot be written to is to be known before the runs.
        with history.opened(nights, True):
            pass
    made = session.Session(chosen, args.argv, args.out, args.cpus, course, args.keep_raw)
    try:
        made.run()
    except (Refused, KeyboardInterrupt) as err:
        write.refused(made.place, made.meta)
        if view.junit:
            files.deliver(view.junit, machine.junit_error(chosen.name, made.meta["started"], err if str(err) else "interrupted"), "--junit")
        raise
    result = write.report(made.place, view, nights, keep)
    return made.place, result.get("gate", {}).get("status", 0)
