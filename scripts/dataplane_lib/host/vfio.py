# SPDX-License-Identifier: GPL-2.0-only
"""PCI devices and VFIO: who drives a virtio-blk device, what is in the way of taking it, and how it goes over and back.

Nothing is kept: the kernel finds its own driver again from what a device says of itself. See the kernel's
Documentation/driver-api/vfio.rst, and driver_override in Documentation/ABI/testing/sysfs-bus-pci.
"""

import contextlib
import errno
import os
import re
import stat
import subprocess
from pathlib import Path

from ..errors import NotMeasured, Refused

VFIO = "vfio-pci"
_ADDRESS = re.compile(r"([0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_VENDOR, _BLOCK = "0x1af4", ("0x1001", "0x1042")
_BRIDGE = "0x0604"
# Drivers that do no DMA of their own and so may stay beside a device of VFIO's.
_HARMLESS = (VFIO, "pci-stub", "pcieport")
_MODULES = ("vfio-pci", "vfio_iommu_type1")


class Host:
    """Where the kernel shows things; tests have trees of their own."""

    def __init__(self, sys="/sys", proc="/proc", dev="/dev"):
        self.sys, self.proc, self.dev = Path(sys), Path(proc), Path(dev)
        self.devices, self.drivers = self.sys / "bus/pci/devices", self.sys / "bus/pci/drivers"

    def device(self, text):
        """The Device with the address TEXT, of which lspci leaves the domain out."""
        if not _ADDRESS.fullmatch(text):
            raise Refused(f"'{text}': expected a PCI address such as 0000:00:04.0")
        address = text if text.count(":") == 2 else f"0000:{text}"
        if not (self.devices / address).is_dir():
            raise Refused(f"{address}: no such PCI device; virtio-blk devices: {', '.join(d.address for d in self.disks()) or 'none'}")
        return Device(self, address)

    def disks(self):
        """Every virtio-blk device."""
        return [device for path in sorted(self.devices.glob("*")) if (device := Device(self, path.name)).is_disk()]

    def has_module(self):
        """True if vfio-pci is there, built in or loaded."""
        return (self.drivers / VFIO).is_dir()

    def missing(self):
        """What this machine lacks for vfio-pci, and what to do about it; two empty strings for nothing."""
        if not any(self.sys.glob("kernel/iommu_groups/*")):
            return "no IOMMU", "a machine that has one, switched on in its firmware and in the kernel (intel_iommu=on)"
        release = os.uname().release
        if not self.has_module() and not list(Path("/lib/modules").glob(f"{release}/**/vfio-pci.ko*")):
            return "this kernel has no such driver", "another kernel"
        node = self.dev / "vfio/vfio"
        if self.has_module() and not os.access(node, os.R_OK | os.W_OK):
            return f"no permission for {node}", "run as root"
        if os.geteuid():
            return "moving devices to it takes root", "run as root, or have 'dataplane bind' run by root and be given /dev/vfio/GROUP and 'ulimit -l'"
        return "", ""

    def load_modules(self):
        """Have the kernel load what a device of VFIO takes; built in, modprobe finds nothing to do."""
        for name in _MODULES:
            _modprobe(name)
        if not self.has_module():
            raise NotMeasured(f"this kernel has no driver {VFIO}: 'modprobe {VFIO}' fails")


def _modprobe(name):
    with contextlib.suppress(OSError):
        subprocess.run(["modprobe", name], capture_output=True, check=False)


class Device:
    """A PCI device of HOST."""

    def __init__(self, host, address):
        self.host, self.address, self.path = host, address, host.devices / address

    def read(self, name):
        """A small file of the device's, '' where there is none."""
        try:
            return (self.path / name).read_text().strip()
        except OSError:
            return ""

    def write(self, path, text):
        """What the kernel is told; refused where it is not for us to say."""
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        except PermissionError:
            raise NotMeasured(f"{self.address}: no permission to write {path}: run as root") from None
        except OSError as err:
            raise NotMeasured(f"{self.address}: cannot write {text.strip() or 'an empty line'} to {path}: {err.strerror}") from None

    def driver(self):
        """The name of the driver that has it, '' for none."""
        return self._link("driver")

    def group(self):
        """The number of its IOMMU group, '' without one."""
        return self._link("iommu_group")

    def _link(self, name):
        try:
            return os.path.basename(os.readlink(self.path / name))
        except OSError:
            return ""

    def is_disk(self):
        """True of a virtio-blk device."""
        return self.read("vendor") == _VENDOR and self.read("device") in _BLOCK

    def nodes(self):
        """Its block devices, partitions too: [(name, number)]."""
        inside, out = os.path.realpath(self.path) + os.sep, []
        for entry in sorted((self.host.sys / "class/block").glob("*")):
            if os.path.realpath(entry).startswith(inside):
                major, _, minor = (entry / "dev").read_text().strip().partition(":")
                out.append((entry.name, os.makedev(int(major), int(minor))))
        return out

    def neighbours(self):
        """Devices of its group that the kernel drives, which VFIO does not allow: ['0000:00:1f.2 (ahci)']."""
        out = []
        for path in sorted((self.path / "iommu_group" / "devices").glob("*")):
            other = Device(self.host, path.name)
            driver = other.driver()
            if path.name != self.address and driver not in ("", *_HARMLESS) and not other.read("class").startswith(_BRIDGE):
                out.append(f"{path.name} ({driver})")
        return out


def taken(device):
    """What uses the disk of DEVICE, a sentence each; needs root to see all."""
    host, nodes = device.host, device.nodes()
    numbers = {number: name for name, number in nodes}
    out = [f"{name} is used by {holder.name} (device mapper, md or the like)"
           for name, _ in nodes for holder in sorted((host.sys / "class/block" / name / "holders").glob("*"))]
    out += [f"{numbers[n]} is mounted on {where}" for n, where in _mounts(host, nodes)]
    out += [f"{numbers[n]} is swap space" for n in _swaps(host, nodes)]
    out += [f"{numbers[n]} is open in {who}" for n, who in _openers(host, numbers)]
    return list(dict.fromkeys(out))


def _mounts(host, nodes):
    """(number, mount point) of each mount of NODES, in every name space that can be seen: proc(5), mountinfo."""
    numbers, by_name, seen = {number for _, number in nodes}, {f"/dev/{name}": number for name, number in nodes}, set()
    for path in [host.proc / "self/mountinfo", *host.proc.glob("[0-9]*/mountinfo")]:
        with contextlib.suppress(OSError):
            for line in path.read_text(errors="replace").splitlines():
                front, _, back = line.partition(" - ")
                _, _, device, _, where, *_ = front.split()
                # btrfs and others have a number of their own, but name the disk.
                number = by_name.get(back.split()[1], os.makedev(*map(int, device.split(":"))))
                if number in numbers and (number, where) not in seen:
                    seen.add((number, where))
                    yield number, where


def _swaps(host, nodes):
    by_name = dict(nodes)
    with contextlib.suppress(OSError):
        for line in (host.proc / "swaps").read_text().splitlines()[1:]:
            name = os.path.basename(line.split()[0])
            if name in by_name:
                yield by_name[name]


def _openers(host, numbers):
    for path in host.proc.glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            if stat.S_ISBLK(facts.st_mode) and facts.st_rdev in numbers:
                yield facts.st_rdev, _process(path)


def _process(path):
    """'fio (4711)' of a path under /proc/4711."""
    home = path.parents[1]
    with contextlib.suppress(OSError):
        return f"{(home / 'comm').read_text().strip()} ({home.name})"
    return home.name


@contextlib.contextmanager
def _claimed(device):
    """Hold the disk of DEVICE, and so its partitions, that meanwhile nobody mounts it; refused where the kernel or anybody does already."""
    held = []
    try:
        for name, _ in device.nodes():
            if (device.host.sys / "class/block" / name / "partition").exists():
                continue
            try:
                held.append(os.open(device.host.dev / name, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
            except FileNotFoundError:
                continue
            except OSError as err:
                why = "is in use by the kernel" if err.errno == errno.EBUSY else f"cannot be opened: {err.strerror}"
                raise Refused(f"{device.address}: {name} {why}") from None
        yield
    finally:
        for handle in held:
            os.close(handle)


def _check(device):
    """Refuse to take DEVICE where that cannot work, or takes a disk away from somebody."""
    _as_root(device)
    if not device.is_disk():
        raise Refused(f"{device.address}: no virtio-blk device (vendor {device.read('vendor')}, device {device.read('device')}), which is what virtio-poll.so drives")
    if not device.group():
        raise NotMeasured(f"{device.address}: in no IOMMU group: this machine has no IOMMU, or it is off (intel_iommu=on; amd_iommu is on by itself)")
    neighbours = device.neighbours()
    if neighbours:
        raise Refused(f"{device.address}: its IOMMU group {device.group()} has other devices that the kernel drives, and all of a group go together: {', '.join(neighbours)}")
    found = taken(device)
    if found:
        raise Refused("\n".join(f"{device.address}: {text}" for text in found))


def _as_root(device):
    if not os.access(device.path / "driver_override", os.W_OK):
        raise NotMeasured(f"{device.address}: moving a device between drivers takes root")


def bind(device):
    """Give DEVICE to vfio-pci; returns the names of the disks that are gone with it."""
    if device.driver() == VFIO:
        return []
    _check(device)
    device.host.load_modules()
    names = [name for name, _ in device.nodes()]
    with _claimed(device):
        device.write(device.path / "driver_override", f"{VFIO}\n")
        if device.driver():
            device.write(device.path / "driver" / "unbind", device.address)
    device.write(device.host.sys / "bus/pci/drivers_probe", device.address)
    if device.driver() != VFIO:
        _give_back(device)
        raise NotMeasured(f"{device.address}: {VFIO} does not take it, see the kernel's log")
    return names


def _give_back(device):
    """Let the kernel choose a driver for DEVICE, which may have one."""
    device.write(device.path / "driver_override", "\n")
    if not device.driver():
        device.write(device.host.sys / "bus/pci/drivers_probe", device.address)


def user(device):
    """Who has DEVICE open through VFIO, '' for nobody: a group can be opened once."""
    node = device.host.dev / "vfio" / device.group()
    try:
        os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC))
    except OSError as err:
        if err.errno != errno.EBUSY:
            return ""
        return next((_process(path) for path in device.host.proc.glob("[0-9]*/fd/*") if _leads_to(path, node)), "a process")
    return ""


def _leads_to(path, node):
    with contextlib.suppress(OSError):
        return os.readlink(path) == str(node)
    return False


def unbind(device):
    """Give DEVICE back to the kernel; returns the driver that has it then."""
    if device.driver() == VFIO:
        _as_root(device)
        who = user(device)
        if who:
            raise Refused(f"{device.address}: {who} is using it")
        device.write(device.path / "driver_override", "\n")
        device.write(device.path / "driver" / "unbind", device.address)
    _give_back(device)
    if not device.driver():
        _modprobe(device.read("modalias"))
        _give_back(device)
    if not device.driver():
        raise NotMeasured(f"{device.address}: the kernel has no driver that takes it ({device.read('modalias')})")
    return device.driver()
