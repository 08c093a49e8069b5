# SPDX-License-Identifier: GPL-2.0-only
"""Files of ours: read with one line that names them when they are no good, written whole or not at all."""

import json
import math
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from . import paths
from .errors import NotMeasured, Refused

STDOUT = "-"


@contextmanager
def reading(path):
    """In it what does not have the form that it should have becomes one line that names PATH."""
    try:
        yield
    except OSError as err:
        raise NotMeasured(f"{err.filename or path}: {err.strerror or err}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as err:
        raise NotMeasured(f"{path}: is damaged: {type(err).__name__}: {str(err)[:80]}") from None


@contextmanager
def opened(path):
    """The file PATH, to read bytes from; nothing else than a file is opened, as a FIFO would be waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise NotMeasured(f"{path}: not a file")
            yield file
    except OSError as err:
        raise NotMeasured(f"{path}: {err.strerror}") from None


def read_bytes(path):
    """What the file PATH holds."""
    with opened(path) as file:
        return file.read()


def read_text(path):
    """The text in the file PATH; bytes that are no UTF-8 go through."""
    return read_bytes(path).decode("utf-8", "surrogateescape")


def read_json(path):
    """A JSON file of ours, refused when it is missing or broken."""
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as err:
        raise NotMeasured(f"{path}: {err}") from None


def write_bytes(path, data):
    """Write DATA to PATH, whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as err:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        # A disk that is full does not tell where.
        raise OSError(err.errno, err.strerror, str(path)) from None


def write_whole(path, text):
    """Write TEXT to PATH, whole or not at all; a name that is no UTF-8 gets into it as the bytes it has."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_json(path, data):
    """Write DATA to PATH, whole or not at all."""
    write_whole(path, json.dumps(data, indent=1) + "\n")


def json_text(data):
    """DATA as JSON, with null for what JSON has no figure for, such as the end of an interval that is unlimited."""
    return json.dumps(_finite(data), indent=1, allow_nan=False) + "\n"


def _finite(value):
    if hasattr(value, "tolist"):
        # numpy's
        value = value.tolist()
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def deliver(path, text, option):
    """TEXT into the file PATH, which OPTION named, whole or not at all, or to stdout where that is "-"."""
    if path == STDOUT:
        sys.stdout.write(text)
        return
    try:
        write_whole(Path(path), text)
    except OSError as err:
        raise Refused(f"{option} {path}: {err.strerror}") from None


def result_directory(name, out):
    """The directory of a result called NAME, made now: --out must be new or empty."""
    if not out:
        try:
            return new_directory(paths.results(), name).resolve()
        except OSError as err:
            raise Refused(f"{err.filename}: {err.strerror}; --out DIR puts the result elsewhere") from None
    path = Path(out)
    _move_failed(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refused(f"--out {out}: exists and is not an empty directory")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise Refused(f"--out {path}: {err.strerror}") from None
    return path.resolve()


def _move_failed(path):
    """Make room for a result where a study of ours failed or was stopped: what that left goes to PATH-failed, -failed-2 …"""
    if not (path / "meta.json").is_file() or (path / "runs.jsonl.xz").exists():
        return
    with reading(path / "meta.json"):
        if read_json(path / "meta.json").get("status") not in ("failed", "interrupted"):
            return
        there = next(p for n in range(1, 10000) if not (p := Path(f"{path}-failed" + (f"-{n}" if n > 1 else ""))).exists())
        path.rename(there)
    print(f"dataplane: the failed study in {path} is now in {there}", file=sys.stderr)


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
