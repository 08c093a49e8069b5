# SPDX-License-Identifier: GPL-2.0-only
"""--json of commands that print figures without reporting a result: docs/json.md has what each of them writes."""

import contextlib
import os

from .. import files

VERSION = 1


def add(sub):
    """Give SUB the option."""
    sub.add_argument("--json", metavar="FILE", help="also write all of it as JSON, see docs/json.md; - prints that and nothing else (default: none)")


@contextlib.contextmanager
def delivered(args, kind):
    """What is put into the dict that this yields is written as --json says, as a document of KIND; where that is stdout, nothing else gets there."""
    data = {}
    with contextlib.ExitStack() as stack:
        if args.json == files.STDOUT:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(os.devnull, "w", encoding="utf-8"))))
        yield data
    if args.json:
        files.deliver(args.json, files.json_text({"schema": f"fio-dataplane {kind}", "version": VERSION, **data}), "--json")
