# SPDX-License-Identifier: GPL-2.0-only
"""Facts about the host that a figure cannot be read without."""

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .. import paths
from ..errors import NotMeasured

# What a result is judged, drawn and printed with.
_MODULES = ("numpy", "scipy", "matplotlib", "jinja2", "rich")


def read(path, default=""):
    """A small file's text, DEFAULT when it is not there."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return default


def lines(argv, cwd=None):
    """The lines that a command prints, stripped; none if it fails or is missing."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10,
                              cwd=cwd, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [] if done.returncode else [line.strip() for line in done.stdout.strip().splitlines()]


def output(argv, cwd=None):
    """First line a command prints, '' if it fails or is missing."""
    return next(iter(lines(argv, cwd)), "")


def file_system(path):
    """The type of the file system that holds PATH, such as ext4."""
    where, found = os.path.realpath(path), ("", "?")
    for line in read("/proc/self/mounts").splitlines():
        _, mount, kind, *_ = line.split()
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(found[0]):
            found = (mount, kind)
    return found[1]


def fio_version():
    """'fio-3.33'; refused where there is no fio."""
    if not shutil.which("fio"):
        raise NotMeasured("fio is not installed: run scripts/install-deps")
    return output(["fio", "--version"])


def missing_modules():
    """The packages that a report is made with, and that the Python in use does not have."""
    return [f"python3-{name}" for name in _MODULES if not importlib.util.find_spec(name)]


def require_modules():
    """Refuse to measure what could not be reported."""
    missing = missing_modules()
    if missing:
        raise NotMeasured(f"{', '.join(missing)} not installed for {sys.executable}: run scripts/install-deps run")


def cpu_model():
    """The processor's name."""
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def governor():
    """cpufreq governors in use, 'none' on most virtual machines."""
    found = {read(p) for p in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found)) or "none"


def idle_driver():
    """How idle CPUs wait: driver/governor."""
    base = "/sys/devices/system/cpu/cpuidle"
    return f"{read(base + '/current_driver', 'none')}/{read(base + '/current_governor', 'none')}"


def ticks():
    """Jiffies since boot by CPU: {'cpu0': [user, nice, system, idle, …]}, 'cpu' is all."""
    out = {}
    for line in read("/proc/stat").splitlines():
        if line.startswith("cpu"):
            name, *rest = line.split()
            out[name] = [int(v) for v in rest]
    return out


def shares(before, after):
    """(busy %, steal %) between two lists of jiffies."""
    delta = [b - a for a, b in zip(before, after)]
    total = sum(delta[:8]) or 1
    idle = delta[3] + delta[4]
    steal = delta[7] if len(delta) > 7 else 0
    return 100 * (total - idle - steal) / total, 100 * steal / total


def facts():
    """What the report prints about the host."""
    smt = read("/sys/devices/system/cpu/smt/active", "?")
    virtual = "hypervisor" in read("/proc/cpuinfo")
    out = {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "CPU": f"{cpu_model()}, {os.cpu_count()} CPUs"
               + (" (virtual machine)" if virtual else ""),
        "SMT": {"1": "on", "0": "off"}.get(smt, "unknown"),
        "governor": governor(),
        "idle driver": idle_driver(),
        "clocksource": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "distribution": _distribution(),
        "fio": fio_version(),
        "load": " ".join(f"{x:.2f}" for x in os.getloadavg()),
    }
    if commit():
        out["fio-dataplane"] = commit()
    if paths.elsewhere():
        out["targets and engines"] = f"{paths.elsewhere()} (FIO_DATAPLANE)"
    return out


def fingerprint(known):
    """A short name for the hardware that FACTS, as facts() has them, are of: results of one can be compared."""
    kept = "\n".join(f"{key}: {known.get(key, '')}" for key in ("CPU", "SMT", "governor", "memory"))
    return hashlib.sha256(kept.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def commit():
    """What git calls this source tree, '' outside of one."""
    return output(["git", "--no-optional-locks", "describe", "--always", "--dirty"], cwd=paths.HOME) if paths.in_tree() else ""


def version():
    """The line of --version: this program's, and that of the fio it runs."""
    fio = output(["fio", "--version"]) or "no fio"
    target = paths.dataplane_dir() / "targets" / "vhost-user-blk-target"
    built = output([str(target), "--version"]).removeprefix(target.name).strip()
    return f"dataplane {commit() or built or '(unknown version)'}, {fio}"


def _memory():
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return f"{int(line.split()[1]) / (1 << 20):.1f} GiB"
    return "?"


def _distribution():
    for line in read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "?"
