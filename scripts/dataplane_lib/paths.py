# SPDX-License-Identifier: GPL-2.0-only
"""Where things are, in a source tree and when installed.

In the tree the engines are in build/ beside scripts/; installed, engines/,
targets/, tools/, jobfiles/ and scripts/ share one directory. FIO_DATAPLANE,
when set, names the directory that holds engines/ and wins over both.
"""

import os
from pathlib import Path

from .errors import NotMeasured

HOME = Path(__file__).resolve().parent.parent.parent


def in_tree():
    """True in a source tree, False when installed."""
    return (HOME / "Makefile").exists()


def own_dir():
    """Where the engines and targets are that belong to these scripts."""
    return HOME / "build" if in_tree() else HOME


def dataplane_dir():
    """The directory that FIO_DATAPLANE stands for (it may not be built yet)."""
    given = os.environ.get("FIO_DATAPLANE")
    return Path(given).resolve() if given else own_dir()


def elsewhere():
    """The directory that the environment's FIO_DATAPLANE names, None where these scripts' own is used."""
    found = dataplane_dir()
    return None if found == own_dir() else found


def built(*parts):
    """Path of a built file, refused with advice when it is not there."""
    path = dataplane_dir().joinpath(*parts)
    if not path.exists():
        raise NotMeasured(f"{path} is not built: run make"
                      " (or set FIO_DATAPLANE to where engines/ is)")
    return path


def jobfiles():
    """The directory of studies and example job files."""
    return HOME / "jobfiles"


def history():
    """The store of gated runs where --history does not say; None where FIO_DATAPLANE_HISTORY is set to nothing."""
    given = os.environ.get("FIO_DATAPLANE_HISTORY")
    return results() / "history.db" if given is None else Path(given) if given else None


def results():
    """Where results go when --out does not say."""
    return HOME / "results" if in_tree() else Path.cwd() / "results"
