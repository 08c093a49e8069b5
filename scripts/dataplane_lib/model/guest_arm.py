# SPDX-License-Identifier: GPL-2.0-only
"""Arms whose job runs in a Linux guest of a real QEMU: program = "guest" and its options."""

import functools
import os
import re
import shutil
from dataclasses import dataclass, field

from guest_lib import disks, image, machine
from guest_lib.errors import Failed, Unavailable

from .. import units
from ..host import system
from ..errors import Refused, RunFailed

PROGRAM = "guest"
# What a vhost-user-blk disk is served by.
TARGET = "vhost-user-blk-target"
KINDS = ("virtio-blk", "vhost-user-blk")
ACCELS = ("auto", "kvm", "tcg")

_AIO = ("threads", "native", "io_uring")
_TIME = {"": 1, "ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}
# As an iothread object calls them, which is as our targets do.
_POLLING = ("poll-max-ns", "poll-grow", "poll-shrink")


@dataclass
class Guest:
    """What the options of an arm say; OWN are those of QEMU's own disk, REST goes to our target."""
    disk: str = "virtio-blk"
    qemu: str = machine.QEMU
    accel: str = "auto"
    engine: str = ""
    vcpus: int = 1
    memory: int = 512
    queues: int = 1
    queue_size: int = 0
    packed: bool = False
    own: dict = field(default_factory=dict)
    rest: list = field(default_factory=list)

    def disk_arguments(self, socket):
        """QEMU's arguments for the disk under test; SOCKET is where our target listens, if that serves it."""
        if self.disk == "vhost-user-blk":
            return disks.vhost_user(0, socket, machine.reconnect(self.qemu), self.queues, self.packed, self.queue_size)
        polling = {k: self.own[k] for k in _POLLING if k in self.own}
        cache = self.own.get("cache", "none")
        path = self.own.get("backend", "null-co").partition(":")[2]
        node = (disks.file(path, self.own.get("aio", "threads"), cache) if path
                else disks.null_co(self.own.get("size", 1 << 30), self.own.get("latency-ns", 0)))
        return disks.virtio_blk(node, disks.CACHES[cache][1], polling, self.queues, self.packed, self.queue_size)


def _number(text):
    return int(text) if text.isdigit() else None


def _positive(text):
    return _number(text) or None


def _time(text):
    match = re.fullmatch(r"(\d+)(ns|us|ms|s|)", text)
    return int(match[1]) * _TIME[match[2]] if match else None


def _size(text):
    try:
        return units.size(text, "")
    except Refused:
        return None


def _one_of(*words):
    return lambda text: text if text in words else None


def _switch(text):
    return {"on": True, "off": False}.get(text)


def _backend(text):
    return text if text == "null-co" or re.fullmatch("file:.+", text) else None


# Option: (attribute, reader that gives None for what is wrong, what is right).
_COMMON = {
    "--disk": ("disk", _one_of(*KINDS), " or ".join(KINDS)),
    "--qemu": ("qemu", str, "a program"),
    "--accel": ("accel", _one_of(*ACCELS), ", ".join(ACCELS)),
    "--engine": ("engine", str, "an engine of fio"),
    "--vcpus": ("vcpus", _positive, "a number from 1 up"),
    "--memory": ("memory", _positive, "MiB from 1 up"),
    "--num-queues": ("queues", _positive, "a number from 1 up"),
    "--queue-size": ("queue_size", _positive, "a power of two"),
    "--packed": ("packed", _switch, "on or off"),
}
_OWN = {
    "--poll-max-ns": (_time, "a time such as 32768 or 32us"),
    "--poll-grow": (_number, "a number"),
    "--poll-shrink": (_number, "a number"),
    "--backend": (_backend, "null-co or file:PATH"),
    "--size": (_size, "a size such as 1g"),
    "--latency-ns": (_time, "a time such as 14us"),
    "--aio": (_one_of(*_AIO), ", ".join(_AIO)),
    "--cache": (_one_of(*disks.CACHES), ", ".join(disks.CACHES)),
}
# Which of them say nothing of the other kind of backend
_OF = {"null-co": ("size", "latency-ns"), "file": ("aio", "cache")}
# What the target has to know as well as QEMU. Its largest ring stays as it is: QEMU 10 lets guests have larger ones than it was told.
_BOTH = ("--num-queues",)


def parse(options, where):
    """The Guest in OPTIONS, a list of words; WHERE is for messages."""
    out = Guest()
    rest = []
    for name, values in _pairs(options, where):
        if name in _COMMON:
            attribute, read, accepted = _COMMON[name]
            setattr(out, attribute, _read(read, name, values, accepted, where))
        if name not in _COMMON or name in _BOTH:
            rest.append((name, values))
    if out.disk == "vhost-user-blk":
        out.rest = [word for name, values in rest for word in (name, *values)]
        return out
    for name, values in rest:
        if name in _OWN:
            out.own[name[2:]] = _read(_OWN[name][0], name, values, _OWN[name][1], where)
        elif name not in _COMMON:
            raise Refused(f"{where}: {name}: unknown for a guest with QEMU's own disk; accepted: "
                          + ", ".join(sorted([*_COMMON, *_OWN])))
    other = "null-co" if ":" in out.own.get("backend", "null-co") else "file"
    for name in _OF[other]:
        if name in out.own:
            raise Refused(f"{where}: --{name}: needs --backend {other}")
    return out


def _pairs(options, where):
    """[(--name, [values])] of a list of words."""
    out = []
    for word in options:
        if word.startswith("--"):
            name, sep, value = word.partition("=")
            out.append((name, [value] if sep else []))
        elif out:
            out[-1][1].append(word)
        else:
            raise Refused(f"{where}: {word}: expected --option first")
    return out


def _read(read, name, values, accepted, where):
    value = read(values[0]) if len(values) == 1 else None
    if value is None:
        raise Refused(f"{where}: {name}{' ' * bool(values)}{' '.join(values)}: expected {accepted}")
    return value


def missing(guest):
    """What this host lacks for GUEST, in words; empty if nothing."""
    if not shutil.which(guest.qemu):
        return f"{guest.qemu} is not installed"
    try:
        machine.reconnect(guest.qemu)
    except Failed as err:
        return str(err)
    why = _no_image()
    if why:
        return f"no guest: {why}"
    if guest.accel == "kvm" and not machine.kvm_works(guest.qemu, built_image()):
        return f"KVM boots no guest of {guest.qemu} here"
    return ""


@functools.cache
def _no_image():
    """Why there is nothing that guests could boot, asked once, as it may take a download; empty if there is."""
    try:
        image.prepare()
    except (Unavailable, Failed) as err:
        return str(err)
    return ""


def built_image():
    """The Image that guests boot, made anew where another process removed it."""
    try:
        return image.prepare()
    except (Unavailable, Failed) as err:
        raise RunFailed(f"the guest: {err}") from None


def accelerator(guest):
    """kvm or tcg: what GUEST is run with here."""
    if guest.accel != "auto":
        return guest.accel
    return "kvm" if machine.kvm_works(guest.qemu, built_image()) else "tcg"


def facts(guest):
    """{name: fact} about QEMU and what it boots, for the report."""
    accel = accelerator(guest)
    out = {guest.qemu: system.output([guest.qemu, "--version"]) or "version unknown",
           "guest kernel": os.path.basename(built_image().kernel).removeprefix("vmlinuz-"),
           f"accelerator of {guest.qemu}": "KVM" if accel == "kvm" else f"none, the CPU is emulated (TCG): {NO_MEASUREMENT}"}
    halt = system.read("/sys/module/kvm/parameters/halt_poll_ns")
    if accel == "kvm" and halt:
        out["KVM's own polling when a vCPU halts"] = f"{halt} ns (kvm.halt_poll_ns)"
    return out


NO_MEASUREMENT = "no measurement"


def why_none(record):
    """Why the figures of a run with RECORD (its run.json) are no measurement; empty if they are one."""
    if record.get("guest", {}).get("accel") == "tcg":
        return "QEMU emulated the guest's CPU (TCG)"
    return ""
