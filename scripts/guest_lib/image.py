# SPDX-License-Identifier: GPL-2.0-only
"""What a guest boots: a kernel, and an initramfs that holds all there is in it."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

from . import cpio, modules, packages
from .errors import Failed, Unavailable

_HERE = Path(__file__).resolve().parent
_HOME = _HERE.parents[1]
# Installed, what is fetched and built is the user's.
_CACHE = (_HOME / "build" / "guest" if (_HOME / "Makefile").exists()
          else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fio-dataplane")

# Debian's other kernels have virtio_pci as a module too.
_MODULES = ("virtio_pci", "virtio_blk")
# What modprobe in the guest finds
_MODULES_ON_DEMAND = ("null_blk", "nbd", "ublk_drv", "vduse", "vhost_vdpa", "virtio_vdpa", "vfio_pci", "vfio_iommu_type1")
_PROGRAMS = (os.environ.get("FIO", "fio"), "blkdiscard")

Image = namedtuple("Image", "kernel initramfs")


def prepare():
    """Fetch and build what is missing; returns the Image."""
    if platform.machine() != "x86_64":
        raise Unavailable(f"the guest is an x86-64 one and runs this host's fio, which is for {platform.machine()}")
    programs = [_which(name) for name in _PROGRAMS]
    kernel = packages.kernel(_CACHE)
    busybox = packages.unpacked(_CACHE, "busybox-static")

    initramfs = _CACHE / f"initramfs-{_digest(kernel, programs)}"
    if not initramfs.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        for old in _CACHE.glob("initramfs-*"):
            old.unlink(missing_ok=True)
        _build(initramfs, kernel, busybox, programs)
    return Image(_only(kernel, "boot/vmlinuz-*"), initramfs)


def commands_archive(file, script, extra):
    """Write an archive with the commands of one boot to FILE, behind the initramfs.

    EXTRA is what else is to be there: (path here, path in the guest), with its libraries.
    """
    archive = cpio.Archive(file)
    archive.file("commands", script.encode() + b"\n")
    _libraries_of(archive, [here for here, _ in extra])
    for here, there in extra:
        archive.file(there.lstrip("/"), Path(here).read_bytes(), 0o755)
    archive.close()


def _which(name):
    path = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    if not path:
        raise Unavailable(f"{name} is not installed")
    return path


def _only(root, pattern):
    found = list(root.glob(pattern))
    if len(found) != 1:
        raise Failed(f"{root} should have one {pattern} but has {len(found)}: remove it to fetch it anew")
    return found[0]


def _digest(kernel, programs):
    """Differs when any part is another one."""
    parts = [kernel.name]
    for path in [*programs, *sorted(map(str, _HERE.glob("*[!c]")))]:
        if os.path.isfile(path):
            facts = os.stat(path)
            parts.append(f"{path} {facts.st_size} {facts.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _build(path, kernel, busybox, programs):
    with tempfile.NamedTemporaryFile(dir=_CACHE, prefix="new-", delete=False) as file:
        try:
            _fill(cpio.Archive(file), kernel, busybox, programs)
            file.flush()
            os.rename(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _fill(archive, kernel, busybox, programs):
    archive.character_device("dev/console", 5, 1)
    archive.file("init", (_HERE / "init").read_bytes(), 0o755)
    archive.file("bin/busybox", _only(busybox, "bin/busybox").read_bytes(), 0o755)
    tree = _only(kernel, "lib/modules/*")
    for number, (name, content) in enumerate(modules.in_load_order(tree, _MODULES)):
        archive.file(f"modules/{number:02}-{name}", content)
    files, dependencies = modules.on_demand(tree, _MODULES_ON_DEMAND)
    for name, content in [*files, ("modules.dep", dependencies.encode())]:
        archive.file(f"lib/modules/{tree.name}/{name}", content)
    _libraries_of(archive, programs)
    for program in programs:
        archive.file(f"usr/bin/{os.path.basename(program)}", Path(program).read_bytes(), 0o755)
    archive.close()


def _libraries_of(archive, programs):
    for library in sorted({library for program in programs for library in _libraries(program)}):
        archive.file(library.lstrip("/"), Path(library).read_bytes(), 0o755)


def _libraries(program):
    """Files the dynamic linker would take, itself among them; none for a static program."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    words = (word for line in done.stdout.splitlines() for word in line.split())
    return [os.path.normpath(word) for word in words if word.startswith("/")]
