# SPDX-License-Identifier: GPL-2.0-only
"""Files of ours: read with one line that names them when they are no good, written whole or not at all."""

import json
import time
from contextlib import suppress
from pathlib import Path

from . import paths
from .errors import NotMeasured, Refused


def read_json(path):
    """A JSON file of ours, refused when it is missing or broken."""
    try:
        return json.loads(path.read_text())
    except OSError as err:
        raise NotMeasured(f"{path}: {err.strerror}") from None
    except ValueError as err:
        raise NotMeasured(f"{path}: {err}") from None


def write_whole(path, text):
    """Write TEXT to PATH, whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as err:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        # A disk that is full does not tell where.
        raise OSError(err.errno, err.strerror, str(path)) from None


def write_json(path, data):
    """Write DATA to PATH, whole or not at all."""
    write_whole(path, json.dumps(data, indent=1) + "\n")


def result_directory(name, out):
    """The directory of a result called NAME, made now: --out must be new or empty."""
    if not out:
        try:
            return new_directory(paths.results(), name).resolve()
        except OSError as err:
            raise Refused(f"{err.filename}: {err.strerror}; --out DIR puts the result elsewhere") from None
    path = Path(out)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refused(f"--out {out}: exists and is not an empty directory")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise Refused(f"--out {path}: {err.strerror}") from None
    return path.resolve()


def new_directory(base, name):
    """Make and return BASE/DATE-NAME, with -2, -3 … where somebody, maybe just now, has taken that."""
    stem = f"{time.strftime('%Y-%m-%d')}-{name}"
    base = Path(base)
    base.mkdir(parents=True, exist_ok=True)
    for n in range(1, 10000):
        path = base / (stem if n == 1 else f"{stem}-{n}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise Refused(f"{base}: no free name for {stem}")
