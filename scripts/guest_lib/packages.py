# SPDX-License-Identifier: GPL-2.0-only
"""The guest's kernel and busybox: Debian packages that are unpacked, not installed."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import Unavailable

# A kernel built for virtual machines; what merely depends on the newest one has a shorter number.
_KERNEL = re.compile(r"linux-image-\d+\.\d+\.\d+\S*-cloud-amd64")


def kernel(where):
    """A directory under WHERE that holds an unpacked kernel package, the newest there is."""
    have = sorted(where.glob("linux-image-*"), key=_version)
    if have:
        return have[-1]
    _lists_there()
    names = [n for n in _run("apt-cache", "pkgnames", "linux-image-").split() if _KERNEL.fullmatch(n)]
    if not names:
        raise Unavailable("apt-cache has no kernel package of the kind linux-image-*-cloud-amd64")
    return unpacked(where, max(names, key=_version))


def unpacked(where, name):
    """The directory under WHERE that holds package NAME, fetched if it is not there yet."""
    there = where / name
    if there.is_dir():
        return there
    _lists_there()
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=where) as scratch:
        _run("apt-get", "-q", "-o", "APT::Sandbox::User=", "download", name, cwd=scratch)
        [package] = Path(scratch).glob("*.deb")
        _run("dpkg-deb", "-x", package, Path(scratch, "root"))
        try:
            os.rename(Path(scratch, "root"), there)
        except OSError:
            # Another one was faster: its copy is as good.
            if not there.is_dir():
                raise
    return there


def _version(name):
    return [int(n) for n in re.findall(r"\d+", str(name).rpartition("/")[2])]


def _lists_there():
    """A fresh root has no package lists; only root can fetch some."""
    if not shutil.which("apt-get"):
        raise Unavailable("kernel: no apt-get to fetch a package with")
    if "busybox-static" not in _run("apt-cache", "pkgnames", "busybox-static").split():
        _run(*([] if os.geteuid() == 0 else ["sudo", "-n"]), "apt-get", "-q", "update")


def _run(*argv, cwd=None):
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Unavailable(f"{argv[0]} is not installed") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Unavailable(f"{argv[0]} {argv[-1]} failed: {said[-1] if said else 'no reason given'}")
    return done.stdout
