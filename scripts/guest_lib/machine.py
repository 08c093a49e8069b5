# SPDX-License-Identifier: GPL-2.0-only
"""The virtual machine: QEMU's command line, its console, and how it ended."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import image
from .errors import Unavailable

TIME_IS_UP, SAID_NOTHING = 124, 125

_QEMU = "qemu-system-x86_64"
_RC = re.compile(rb"^GUEST-RC=(\d+)$", re.MULTILINE)


def boot(built, sockets, queues, packed, cpus, memory, timeout, reboot, script, extra):
    """Boot the Image BUILT, show its console, and return the exit status.

    SOCKETS are disks of QUEUES virtqueues, PACKED or not; MEMORY is in MiB, TIMEOUT in
    seconds, SCRIPT what to run, EXTRA more files for the guest, as commands_archive()
    takes them. The guest may REBOOT, or else ends when it does.
    """
    if not shutil.which(_QEMU):
        raise Unavailable(f"{_QEMU} is not installed: scripts/install-deps guest")
    with tempfile.NamedTemporaryFile(prefix="initramfs-") as initramfs:
        with open(built.initramfs, "rb") as common:
            shutil.copyfileobj(common, initramfs, 1 << 20)
        image.commands_archive(initramfs, script, extra)
        initramfs.flush()
        argv = [_QEMU, *_arguments(built.kernel, initramfs.name, cpus, memory, reboot)]
        for number, path in enumerate(sockets):
            argv += _disk(number, path, queues, packed)
        return _watch(argv, timeout)


def _arguments(kernel, initramfs, cpus, memory, reboot):
    # /dev/kvm may open and still run no ordinary kernel: always emulate. The memory is
    # shared, as the device's process maps it.
    return ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus), "-m", f"{memory}M",
            "-object", f"memory-backend-memfd,id=mem,size={memory}M,share=on",
            "-numa", "node,memdev=mem", "-nodefaults", "-no-user-config",
            "-display", "none", "-serial", "stdio", *([] if reboot else ["-no-reboot"]),
            "-kernel", str(kernel), "-initrd", initramfs,
            "-append", "console=ttyS0 panic=-1 quiet"]


def _disk(number, path, queues, packed):
    # In QEMU's own list syntax a comma is written twice.
    quoted = path.replace(",", ",,")
    return ["-chardev", f"socket,id=c{number},path={quoted},reconnect=1",
            "-device", f"vhost-user-blk-pci,chardev=c{number},num-queues={queues}"
            + (",packed=on" if packed else "")]


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
    # QEMU's own exit status tells nothing of the guest.
    codes = _RC.findall(said)
    if not codes:
        print("guest: ended without a GUEST-RC line", file=sys.stderr)
        return SAID_NOTHING
    return int(codes[-1])


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
