# SPDX-License-Identifier: GPL-2.0-only
"""The virtual machine: QEMU's command line, its console, and how it ended."""

import contextlib
import functools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import disks, image
from .errors import Failed, Unavailable

TIME_IS_UP, SAID_NOTHING = 124, 125
QEMU = "qemu-system-x86_64"

# Seconds that a guest under KVM, which takes one or two, may take until it is off again.
_KVM_PATIENCE = 30
_RC = re.compile(rb"^GUEST-RC=(\d+)$", re.MULTILINE)


def boot(qemu, built, sockets, files, iommu, queues, packed, cpus, memory, timeout, reboot, script, extra):
    """Boot the Image BUILT with the program QEMU, show its console, and return the exit status.

    SOCKETS, then FILES, are disks of QUEUES virtqueues, PACKED or not, and the FILES are behind an IOMMU
    if there is one; MEMORY is in MiB, TIMEOUT in
    seconds, SCRIPT what to run, EXTRA more files for the guest, as commands_archive()
    takes them. The guest may REBOOT, or else ends when it does.
    """
    if not shutil.which(qemu):
        raise Unavailable(f"{qemu} is not installed: scripts/install-deps guest")
    with initramfs(built, script, extra) as file:
        argv = [qemu, *arguments(built.kernel, file, cpus, memory, "tcg", iommu), "-serial", "stdio",
                *([] if reboot else ["-no-reboot"])]
        for number, path in enumerate(sockets):
            argv += disks.vhost_user(number, path, reconnect(qemu), queues, packed)
        for number, path in enumerate(files):
            argv += disks.virtio_file(number, path, iommu, queues, packed)
        return _watch(argv, timeout)


@contextlib.contextmanager
def initramfs(built, script, extra=()):
    """The path of a file, while it is needed, that holds the Image BUILT's files, SCRIPT and EXTRA."""
    with tempfile.NamedTemporaryFile(prefix="initramfs-") as file:
        with open(built.initramfs, "rb") as common:
            shutil.copyfileobj(common, file, 1 << 20)
        image.commands_archive(file, script, extra)
        file.flush()
        yield file.name


def arguments(kernel, initramfs_path, cpus, memory, accel, iommu=False):
    """QEMU's arguments but for the disks and the console, which is the guest's first serial port.

    ACCEL is kvm or tcg; with IOMMU there is Intel's. The memory, in MiB, is shared, as the process of a vhost-user device maps it.
    """
    processor = {"tcg": ["-accel", "tcg,thread=multi", "-cpu", "max"],
                 "kvm": ["-accel", "kvm", "-cpu", "host"]}[accel]
    machine = ["-machine", "q35", "-device", "intel-iommu,device-iotlb=on"] if iommu else []
    words = "console=ttyS0 panic=-1 quiet" + (" intel_iommu=on" if iommu else "")
    return [*processor, *machine, "-smp", str(cpus), "-m", f"{memory}M",
            "-object", f"memory-backend-memfd,id=mem,size={memory}M,share=on",
            "-numa", "node,memdev=mem", "-nodefaults", "-no-user-config", "-display", "none",
            "-kernel", str(kernel), "-initrd", initramfs_path, "-append", words]


@functools.cache
def reconnect(qemu):
    """The option with which a chardev of the program QEMU connects again, a second after its peer has gone.

    QEMU 9.2 brought reconnect-ms and deprecated reconnect (its docs/about/deprecated.rst).
    """
    try:
        said = subprocess.run([qemu, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    except OSError as err:
        raise Failed(f"{qemu}: {err.strerror}") from None
    version = re.search(r"version (\d+)\.(\d+)", said)
    if not version:
        raise Failed(f"{qemu} --version: prints no version")
    return "reconnect-ms=1000" if (int(version[1]), int(version[2])) >= (9, 2) else "reconnect=1"


@functools.cache
def kvm_works(qemu, built):
    """True if the program QEMU boots the Image BUILT under KVM: /dev/kvm may open and still run no ordinary kernel."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with initramfs(built, "true") as file:
        argv = [qemu, *arguments(built.kernel, file, 1, 512, "kvm"), "-serial", "stdio", "-no-reboot"]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_KVM_PATIENCE,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return status(done.stdout) == 0


def status(said):
    """The exit status that a guest SAID on its console, None if it came to no end.

    QEMU's own tells nothing of the guest.
    """
    codes = _RC.findall(said.replace(b"\r", b""))
    return int(codes[-1]) if codes else None


def _watch(argv, timeout):
    # QEMU must not stay behind, however we end; our own end by SIGTERM is an orderly one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], stdout=subprocess.PIPE) as qemu:
        try:
            said = _show(qemu.stdout.fileno(), time.monotonic() + timeout)
        finally:
            qemu.kill()
    if said is None:
        print(f"guest: not done after {timeout} s", file=sys.stderr)
        return TIME_IS_UP
    code = status(said)
    if code is None:
        print("guest: ended without a GUEST-RC line", file=sys.stderr)
        return SAID_NOTHING
    return code


def _show(console, limit):
    """Copy the console to stdout until its end; returns all of it, or None at the time LIMIT."""
    said = bytearray()
    while select.select([console], [], [], max(0, limit - time.monotonic()))[0]:
        piece = os.read(console, 1 << 16)
        if not piece:
            return bytes(said)
        piece = piece.replace(b"\r", b"")
        said += piece
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return None
