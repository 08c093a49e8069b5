#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane bind and unbind, on a made-up /sys: what is refused, what is written, and that nothing is left half done."""

import contextlib
import errno
import io
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.cli import doctor, main
from dataplane_lib.errors import USAGE, NotMeasured, Refused
from dataplane_lib.host import vfio

DISK, OTHER = "0000:00:04.0", "0000:00:05.0"


class Kernel(vfio.Host):
    """A made-up host that does what a kernel does when its files are written. TAKES: drivers that take devices."""

    def __init__(self, home):
        super().__init__(home / "sys", home / "proc", home / "dev")
        self.takes, self.written = {"vfio-pci", "virtio-pci"}, []
        for path in (self.proc / "self", self.dev / "vfio", self.devices, self.sys / "class/block", *(self.drivers / name for name in self.takes)):
            path.mkdir(parents=True)
        (self.sys / "bus/pci/drivers_probe").touch()

    def add(self, address, group, driver="virtio-pci", vendor="0x1af4", device="0x1042", kind="0x018000"):
        """Plug a device in."""
        path = self.devices / address
        path.mkdir()
        for name, text in (("vendor", vendor), ("device", device), ("class", kind), ("driver_override", ""), ("modalias", f"pci:{address}")):
            (path / name).write_text(text + "\n")
        if group:
            there = self.sys / "kernel/iommu_groups" / group / "devices"
            there.mkdir(parents=True, exist_ok=True)
            (path / "iommu_group").symlink_to(there.parent)
            (there / address).symlink_to(path)
        if driver:
            (self.drivers / driver).mkdir(exist_ok=True)
            self.attach(path, driver)

    def attach(self, path, driver):
        """DRIVER gets the device; virtio-pci has a disk of two partitions."""
        (path / "driver").symlink_to(self.drivers / driver)
        for n, name in enumerate(("vda", "vda1", "vda2") if driver == "virtio-pci" else ()):
            place = path / "virtio0/block/vda" / ("" if name == "vda" else name)
            (place / "holders").mkdir(parents=True, exist_ok=True)
            (place / "dev").write_text(f"254:{n}\n")
            if n:
                (place / "partition").write_text(f"{n}\n")
            (self.sys / "class/block" / name).symlink_to(place)
            (self.dev / name).touch()

    def write(self, path, text):
        """As Device.write()."""
        path, word = Path(path), text.strip()
        self.written.append((path.relative_to(self.sys).as_posix(), word))
        if path.name == "driver_override":
            path.write_text(text)
            return
        device = self.devices / word
        if path.name == "unbind":
            (device / "driver").unlink()
            for entry in (self.sys / "class/block").glob("*"):
                entry.unlink()
        elif path.name == "drivers_probe":
            driver = (device / "driver_override").read_text().strip() or "virtio-pci"
            if driver in self.takes:
                self.attach(device, driver)


class Moving(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.kernel = Kernel(Path(scratch.name))
        self.kernel.add(DISK, "7")
        self.disk = self.kernel.device(DISK)
        self.modprobed = []
        for name, value in (("Device.write", lambda _, path, text: self.kernel.write(path, text)), ("_modprobe", self.modprobed.append)):
            patch = unittest.mock.patch.object(vfio.Device if "." in name else vfio, name.rpartition(".")[2], value)
            patch.start()
            self.addCleanup(patch.stop)

    def refused(self, text, kind=Refused, device=None):
        with self.assertRaises(kind) as caught:
            vfio.bind(device or self.disk)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(self.disk.driver(), "virtio-pci")
        self.assertEqual(self.disk.read("driver_override"), "")

    def test_there_and_back(self):
        self.assertEqual(vfio.bind(self.disk), ["vda", "vda1", "vda2"])
        self.assertEqual((self.disk.driver(), self.disk.nodes()), ("vfio-pci", []))
        self.assertEqual(vfio.unbind(self.disk), "virtio-pci")
        self.assertEqual([name for name, _ in self.disk.nodes()], ["vda", "vda1", "vda2"])
        self.assertEqual(self.disk.read("driver_override"), "")

    def test_twice_is_once(self):
        vfio.bind(self.disk)
        before = list(self.kernel.written)
        self.assertEqual(vfio.bind(self.disk), [])
        self.assertEqual(self.kernel.written, before)
        vfio.unbind(self.disk)
        self.assertEqual(vfio.unbind(self.disk), "virtio-pci")

    def test_addresses(self):
        self.assertEqual(self.kernel.device("00:04.0").address, DISK)
        for text in ("vda", "0000:00:4.0", "0000:00:04.9", "../04.0"):
            with self.assertRaisesRegex(Refused, "expected a PCI address"):
                self.kernel.device(text)
        with self.assertRaisesRegex(Refused, f"no such PCI device; virtio-blk devices: {DISK}"):
            self.kernel.device("0000:00:09.0")

    def test_other_devices(self):
        self.kernel.add(OTHER, "8", "virtio-net", device="0x1041")
        self.refused("no virtio-blk device (vendor 0x1af4, device 0x1041)", device=self.kernel.device(OTHER))

    def test_without_an_iommu(self):
        self.kernel.add(OTHER, "", "")
        self.refused("in no IOMMU group", NotMeasured, self.kernel.device(OTHER))

    def test_group_in_use(self):
        self.kernel.add(OTHER, "7", "ahci")
        self.refused(f"all of a group go together: {OTHER} (ahci)")

    def test_group_with_a_bridge(self):
        self.kernel.add(OTHER, "7", "shpchp", kind="0x060400")
        self.kernel.add("0000:00:06.0", "7", "")
        self.assertEqual(len(vfio.bind(self.disk)), 3)

    def test_mounted(self):
        line = "29 1 {} / /srv\\040data rw - {} {} rw\n"
        for words, name in ((("254:1", "ext4", "/dev/vda1"), "vda1"), (("0:31", "btrfs", "/dev/vda2"), "vda2")):
            (self.kernel.proc / "self/mountinfo").write_text(line.format("0:22", "proc", "proc") + line.format(*words))
            self.refused(f"{DISK}: {name} is mounted on /srv\\040data")

    def test_mounted_in_another_name_space(self):
        (self.kernel.proc / "77").mkdir()
        (self.kernel.proc / "77/mountinfo").write_text("29 1 254:0 / /mnt rw - ext4 /dev/vda rw\n")
        self.refused("vda is mounted on /mnt")

    def test_swap(self):
        (self.kernel.proc / "swaps").write_text("Filename Type Size Used Priority\n/dev/vda2 partition 1 0 -2\n")
        self.refused("vda2 is swap space")

    def test_held(self):
        (self.kernel.sys / "class/block/vda1/holders/dm-0").mkdir()
        self.refused("vda1 is used by dm-0")

    def test_all_reasons_at_once(self):
        (self.kernel.sys / "class/block/vda1/holders/dm-0").mkdir()
        (self.kernel.proc / "swaps").write_text("Filename\n/dev/vda2 partition\n")
        with self.assertRaises(Refused) as caught:
            vfio.bind(self.disk)
        self.assertEqual(len(str(caught.exception).splitlines()), 2)

    def test_claimed_by_the_kernel(self):
        with unittest.mock.patch.object(vfio.os, "open", side_effect=OSError(errno.EBUSY, "busy")):
            self.refused("vda is in use by the kernel")

    def test_no_module(self):
        (self.kernel.drivers / "vfio-pci").rmdir()
        self.refused("no driver vfio-pci", NotMeasured)
        self.assertEqual(self.modprobed, ["vfio-pci", "vfio_iommu_type1"])

    def test_not_root(self):
        with unittest.mock.patch.object(vfio.os, "access", return_value=False):
            self.refused("takes root", NotMeasured)

    def test_what_vfio_does_not_take_goes_back(self):
        self.kernel.takes.remove("vfio-pci")
        self.refused("vfio-pci does not take it", NotMeasured)
        self.assertEqual(len(self.disk.nodes()), 3)

    def test_in_use_by_a_job(self):
        vfio.bind(self.disk)
        node = self.kernel.dev / "vfio/7"
        (self.kernel.proc / "4711/fd").mkdir(parents=True)
        (self.kernel.proc / "4711/comm").write_text("fio\n")
        (self.kernel.proc / "4711/fd/9").symlink_to(node)
        with unittest.mock.patch.object(vfio.os, "open", side_effect=OSError(errno.EBUSY, "busy")):
            with self.assertRaisesRegex(Refused, r"fio \(4711\) is using it"):
                vfio.unbind(self.disk)
        self.assertEqual(self.disk.driver(), "vfio-pci")

    def test_driver_that_is_not_loaded(self):
        vfio.bind(self.disk)
        self.kernel.takes.remove("virtio-pci")
        with self.assertRaisesRegex(NotMeasured, "no driver that takes it"):
            vfio.unbind(self.disk)
        self.assertEqual(self.modprobed[-1], f"pci:{DISK}")


class Doctor(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.kernel = Kernel(Path(scratch.name))

    def lacks(self, text):
        with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch.object(doctor.vfio, "Host", return_value=self.kernel):
            grade, what, advice = doctor._vfio()  # pylint: disable=protected-access
        self.assertEqual((grade, bool(advice)), (doctor.WARN, True))
        self.assertIn(text, what)

    def test_what_is_missing(self):
        self.lacks("no IOMMU")
        self.kernel.add(DISK, "7")
        self.lacks("no permission for")
        (self.kernel.drivers / "vfio-pci").rmdir()
        with unittest.mock.patch.object(vfio.os, "uname", return_value=unittest.mock.Mock(release="0.0-none")):
            self.lacks("this kernel has no such driver")

    def test_only_root_moves_devices(self):
        self.kernel.add(DISK, "7")
        (self.kernel.dev / "vfio/vfio").touch()
        with unittest.mock.patch.object(vfio.os, "geteuid", return_value=1000):
            self.lacks("takes root")

    def test_nothing_is_missing(self):
        self.kernel.add(DISK, "7")
        (self.kernel.dev / "vfio/vfio").touch()
        with (unittest.mock.patch.object(vfio.os, "geteuid", return_value=0),
              unittest.mock.patch.object(doctor.vfio, "Host", return_value=self.kernel)):
            self.assertEqual(doctor._vfio(),  # pylint: disable=protected-access
                             (doctor.OK, f"vfio-pci: can be used; virtio-blk devices: {DISK} (virtio-pci)", ""))


class CommandLine(unittest.TestCase):
    def test_mistakes(self):
        for argv, code in ((["bind", "vda"], USAGE), (["unbind", "0000:ff:1f.7"], USAGE), (["bind"], USAGE)):
            with contextlib.redirect_stderr(io.StringIO()) as err:
                try:
                    status = main.main(argv)
                except SystemExit as ended:
                    status = ended.code
            self.assertEqual(status, code, err.getvalue())
            self.assertEqual(len(err.getvalue().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
