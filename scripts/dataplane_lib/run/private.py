# SPDX-License-Identifier: GPL-2.0-only
"""A run's own directory for sockets: short enough for them, named for who made it, and gone when that is."""

import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

# What a unix socket's path may hold (sun_path, less the byte that ends it), and what is put behind the directory.
_PATH, _LONGEST = 107, "/dataplane-4194304-xxxxxxxx/mailbox.sock"
_ELSEWHERE = "/tmp"


def base():
    """Where the directories are: TMPDIR, or /tmp where no socket would fit below it."""
    found = tempfile.gettempdir()
    return found if len(os.fsencode(found)) + len(_LONGEST) <= _PATH else _ELSEWHERE


def make():
    """A new one; it is the caller's to remove."""
    return tempfile.mkdtemp(prefix=f"dataplane-{os.getpid()}-", dir=base())


def announce():
    """Say where sockets are if not where TMPDIR says."""
    if base() != tempfile.gettempdir():
        print(f"dataplane: sockets are in {base()}: the path of TMPDIR is too long for them", file=sys.stderr)


def clean_up():
    """Remove those whose maker is gone without having done so, as SIGKILL has it."""
    with suppress(OSError):
        for path in Path(base()).iterdir():
            found = re.fullmatch(r"dataplane-(\d+)-\w+", path.name)
            if found and not os.path.exists(f"/proc/{found[1]}") and path.lstat().st_uid == os.getuid() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
