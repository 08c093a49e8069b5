# SPDX-License-Identifier: GPL-2.0-only
"""What on this host will spoil a measurement, and what to do about it."""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .. import paths
from ..host import cpus, rtt, system, vfio
from ..model import targets
from ..errors import Refused

OK, WARN, BAD = "OK", "WARN", "BAD"
_IO_URING_SETUP = 425
_ENGINES = ("nbd", "vhost-user-blk", "virtio-poll")
_PEERS = ("qemu-nbd", "nbdkit")


def examine(found):
    """Print a line a fact, and put it into the list FOUND; 1 if no run is possible, else 0."""
    worst = OK
    pinning = cpus.choose()
    for check in (_fio, _modules, _engines, _peers, lambda: _cpus(pinning), lambda: _smt(pinning), _governor,
                  _idle, _clock, lambda: _quiet(pinning), _load, lambda: _distance(pinning),
                  _hugepages, _io_uring, _null_blk, _ublk, _vduse, _kvm, _vfio, _vdpa):
        grade, what, advice = check()
        print(f"{grade:<5}{what}" + (f"\n     -> {advice}" if advice else ""))
        found.append({"grade": grade, "what": what, "advice": advice})
        if grade == BAD:
            worst = BAD
    return 1 if worst == BAD else 0


def _fio():
    try:
        return OK, f"fio: {system.fio_version()}", ""
    except Refused as err:
        return BAD, "fio: not installed", str(err).partition(": ")[2]


def _modules():
    missing = system.missing_modules()
    if missing:
        return BAD, f"Python modules: {', '.join(missing)} not installed for {sys.executable}", "scripts/install-deps run"
    return OK, "Python modules: all that a report needs", ""


def _engines():
    """Let the installed fio load an engine: the only test that counts."""
    try:
        engines = [paths.built("engines", f"{name}.so") for name in _ENGINES]
        for name in (targets.VHOST, targets.NBD, targets.UBLK):
            paths.built("targets", name)
    except Refused as err:
        return BAD, "engines: not built", str(err)
    if not shutil.which("fio"):
        return BAD, "engines: cannot be tried without fio", ""
    for engine in engines:
        done = subprocess.run(["fio", f"--enghelp={engine}"], capture_output=True, text=True,
                              timeout=20, check=False)
        said = (done.stdout + done.stderr).strip()
        if done.returncode or "dp_stats" not in said:
            return (BAD, f"engines: this fio does not load {engine.name}: {said.splitlines()[-1] if said else ''}",
                    "make clean && make builds for the installed fio")
    if paths.elsewhere():
        return (WARN, f"engines: built for this fio, in {paths.elsewhere()}, which FIO_DATAPLANE of the environment names",
                f"unset FIO_DATAPLANE to use those that belong to this command, in {paths.own_dir()}")
    return OK, f"engines: built for this fio, in {engine.parent.parent}", ""


def _peers():
    """Whom the studies compare with; their arms are skipped without them."""
    absent = [name for name in _PEERS if not shutil.which(name)]
    there = [system.output([name, "--version"]) or name for name in _PEERS if name not in absent]
    if absent:
        return (WARN, f"peers: {', '.join(there) or 'none'}; not installed: {', '.join(absent)}",
                "studies leave their arms out: apt-get install qemu-utils nbdkit")
    return OK, f"peers: {', '.join(there)}", ""


def _cpus(pinning):
    if not pinning.pinned:
        return WARN, "CPUs: one, both sides share it", "polling cannot pay here: use two CPUs or more"
    what = f"CPUs: {len(pinning.rest) + 2} available; fio's job on {pinning.fio}, target on {pinning.target}"
    if not pinning.rest:
        return WARN, what, "none is left for the rest of the system: a third CPU would make runs quieter"
    return OK, what, ""


def _smt(pinning):
    if not pinning.pinned:
        return OK, "SMT: does not matter with one CPU", ""
    if pinning.note:
        return WARN, f"SMT: {pinning.note}", "allow CPUs of two cores, or --cpus FIO,TARGET"
    busy = (cpus.siblings(pinning.fio) | cpus.siblings(pinning.target)) - {pinning.fio, pinning.target}
    if busy:
        return (WARN, f"SMT: the chosen cores have siblings {','.join(map(str, sorted(busy)))}",
                "keep them idle, or: echo off > /sys/devices/system/cpu/smt/control")
    return OK, "SMT: the chosen CPUs share no core with another", ""


def _governor():
    found = system.governor()
    if found in ("none", "performance"):
        return OK, f"governor: {found}", ""
    return (WARN, f"governor: {found}",
            "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done")


def _idle():
    """The haltpoll governor makes sleeping look cheap, unless its limit is 0."""
    found = system.idle_driver()
    limit = system.read("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "0")
    if found.endswith("haltpoll") and limit != "0":
        return (WARN, f"idle: {found}: an idle CPU itself polls for up to {limit} ns before it halts",
                "echo 0 > /sys/module/haltpoll/parameters/guest_halt_poll_ns")
    return OK, f"idle: {found}", ""


def _clock():
    found = system.read("/sys/devices/system/clocksource/clocksource0/current_clocksource", "unknown")
    if found in ("tsc", "kvm-clock", "arch_sys_counter"):
        return OK, f"clocksource: {found}", ""
    return WARN, f"clocksource: {found}: reading the clock may cost a system call", "boot with tsc=reliable, if it is"


def _quiet(pinning):
    """One second of /proc/stat: who else uses the two CPUs, and what is stolen."""
    before = system.ticks()
    time.sleep(1)
    after = system.ticks()
    _, steal = system.shares(before["cpu"], after["cpu"])
    chosen = [pinning.fio, pinning.target] if pinning.pinned else sorted(pinning.rest)
    busy = max(system.shares(before[f"cpu{c}"], after[f"cpu{c}"])[0] for c in chosen)
    what = f"last second: steal {steal:.1f} %, the chosen CPUs at most {busy:.0f} % busy"
    if steal > 1:
        return WARN, what, "the hypervisor gives the CPU to others: dedicated CPUs, or more repeats"
    if busy > 10:
        return WARN, what, "something else runs there: stop it, or --cpus FIO,TARGET"
    return OK, what, ""


def _load():
    load = os.getloadavg()[0]
    if load > 0.5:
        return WARN, f"load: {load:.2f}", "wait until the machine is idle"
    return OK, f"load: {load:.2f}", ""


def _distance(pinning):
    if not pinning.pinned:
        return OK, "cache-line round trip: none with one CPU", ""
    try:
        found = [rtt.measure(pinning) for _ in range(3)]
    except Refused as err:
        return BAD, "cache-line round trip: not measured", str(err)
    what = f"cache-line round trip: {min(found):.0f} to {max(found):.0f} ns between CPUs {pinning.pair}"
    if max(found) > rtt.CHANGED * min(found):
        return WARN, what, "it moves: polled figures will move with it; compare runs of equal distance only"
    return OK, what, ""


def _hugepages():
    info = dict(line.split(":", 1) for line in system.read("/proc/meminfo").splitlines() if ":" in line)
    free = int(info.get("HugePages_Free", "0").split()[0])
    return OK, f"hugepages: {free} free (none is needed unless a job asks for them)", ""


def _io_uring():
    """Set a ring up and close it: sysctl and seccomp filters both show."""
    libc = ctypes.CDLL(None, use_errno=True)
    params = ctypes.create_string_buffer(120)
    ring = libc.syscall(_IO_URING_SETUP, 4, params)
    if ring >= 0:
        os.close(ring)
        return OK, "io_uring: works", ""
    reason = os.strerror(ctypes.get_errno())
    setting = system.read("/proc/sys/kernel/io_uring_disabled", "unset")
    return (WARN, f"io_uring: {reason} (kernel.io_uring_disabled is {setting})",
            "only io_uring arms need it: sysctl kernel.io_uring_disabled=0, or allow it in the container")


def _has_module(name):
    return bool(list(Path("/lib/modules").glob(f"{os.uname().release}/**/{name}.ko*")))


def _null_blk():
    if Path("/sys/module/null_blk").exists():
        return OK, "null_blk: loaded", ""
    if _has_module("null_blk"):
        return OK, "null_blk: not loaded (modprobe null_blk, for studies that want it)", ""
    return WARN, "null_blk: not available in this kernel", "only studies on /dev/nullb0 need it; --backend null stands in"


def _ublk():
    control = Path("/dev/ublk-control")
    if not control.exists():
        if _has_module("ublk_drv"):
            return OK, f"ublk: driver not loaded (modprobe ublk_drv, for {targets.UBLK})", ""
        return WARN, "ublk: no driver in this kernel", f"only {targets.UBLK} needs it: Linux 6.4 or newer with CONFIG_BLK_DEV_UBLK"
    if os.access(control, os.R_OK | os.W_OK):
        return OK, "ublk: driver loaded" if not os.geteuid() else "ublk: driver loaded; for root alone devices can be taken over after SIGKILL", ""
    return WARN, f"ublk: no permission to open {control}", f"only {targets.UBLK} needs it: be root, or have a udev rule"


def _vduse():
    control = Path("/dev/vduse/control")
    needs = f"only {targets.VHOST} --export vduse needs it: "
    if not control.exists():
        if _has_module("vduse"):
            return OK, f"vduse: driver not loaded (modprobe vduse, for {targets.VHOST} --export vduse)", ""
        return WARN, "vduse: no driver in this kernel", f"{needs}Linux 5.15 or newer with CONFIG_VDPA_USER"
    if not os.access(control, os.R_OK | os.W_OK):
        return WARN, f"vduse: no permission to open {control}", f"{needs}be root, or let root give you the file"
    if not shutil.which("vdpa", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return WARN, "vduse: driver loaded; the vdpa command is missing", f"{needs}apt-get install iproute2"
    return OK, "vduse: driver loaded", ""


def _kvm():
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        return OK, "/dev/kvm: opens (whether a guest boots with it is tried when a study needs one)", ""
    why = "no permission" if os.path.exists("/dev/kvm") else "absent"
    return WARN, f"/dev/kvm: {why}", "only guests need it; without it they run emulated"


def _vfio():
    """What transport=vfio-pci of virtio-poll.so takes, as far as it can be seen without taking a device."""
    host = vfio.Host()
    why, advice = host.missing()
    if why:
        return WARN, f"vfio-pci: {why}", f"only transport=vfio-pci needs it: {advice}"
    disks = [f"{device.address} ({device.driver() or 'no driver'})" for device in host.disks()]
    return OK, f"vfio-pci: can be used; virtio-blk devices: {', '.join(disks) or 'none'}", ""


def _vdpa(root=Path("/")):
    """What transport=vhost-vdpa of virtio-poll.so takes."""
    needs = "only transport=vhost-vdpa needs it: "
    if not (root / "sys/module/vhost_vdpa").exists():
        if _has_module("vhost_vdpa"):
            return OK, "vhost-vdpa: driver not loaded (modprobe vhost-vdpa, for transport=vhost-vdpa)", ""
        return WARN, "vhost-vdpa: no driver in this kernel", f"{needs}Linux with CONFIG_VHOST_VDPA"
    nodes = sorted((root / "dev").glob("vhost-vdpa-*"))
    closed = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        return WARN, f"vhost-vdpa: no permission to open {', '.join(closed)}", f"{needs}be root, or let root give you the file"
    if nodes:
        return OK, f"vhost-vdpa: {', '.join(map(str, nodes))}", ""
    for device in sorted((root / "sys/bus/vdpa/devices").glob("*")):
        driver = device / "driver"
        if driver.exists():
            return (WARN, f"vhost-vdpa: no device; {driver.resolve().name} has {device.name}",
                    f"{needs}write {device.name} to {driver}/unbind, then to {device.parent.parent}/drivers/vhost_vdpa/bind")
    return WARN, "vhost-vdpa: no device", f"{needs}vdpa dev add; {targets.VHOST} --export vduse makes one without hardware"
