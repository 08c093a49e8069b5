#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""doctor: what it says of vhost-vdpa, on trees like a kernel's."""

import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.cli import doctor


class Vdpa(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def make(self, *paths):
        for path in paths:
            (self.root / path).mkdir(parents=True)

    def ask(self, module=False):
        with unittest.mock.patch.object(doctor, "_has_module", return_value=module):
            return doctor._vdpa(self.root)  # pylint: disable=protected-access

    def test_a_kernel_without_it(self):
        grade, what, advice = self.ask()
        self.assertEqual((grade, what), (doctor.WARN, "vhost-vdpa: no driver in this kernel"))
        self.assertIn("CONFIG_VHOST_VDPA", advice)

    def test_a_module_that_can_be_loaded_is_no_fault(self):
        grade, what, _ = self.ask(module=True)
        self.assertEqual(grade, doctor.OK)
        self.assertIn("modprobe vhost-vdpa", what)

    def test_an_empty_bus(self):
        self.make("sys/module/vhost_vdpa")
        grade, what, advice = self.ask()
        self.assertEqual((grade, what), (doctor.WARN, "vhost-vdpa: no device"))
        self.assertIn("vdpa dev add", advice)

    def test_a_device_that_another_driver_has(self):
        self.make("sys/module/vhost_vdpa", "sys/bus/vdpa/devices/disk", "sys/bus/vdpa/drivers/virtio_vdpa")
        (self.root / "sys/bus/vdpa/devices/disk/driver").symlink_to("../../drivers/virtio_vdpa")
        grade, what, advice = self.ask()
        self.assertEqual((grade, what), (doctor.WARN, "vhost-vdpa: no device; virtio_vdpa has disk"))
        self.assertIn("/unbind", advice)

    def test_a_file_that_may_be_opened_or_not(self):
        self.make("sys/module/vhost_vdpa", "dev")
        node = self.root / "dev/vhost-vdpa-0"
        node.touch()
        self.assertEqual(self.ask(), (doctor.OK, f"vhost-vdpa: {node}", ""))
        with unittest.mock.patch.object(os, "access", return_value=False):
            grade, what, advice = self.ask()
        self.assertEqual((grade, what), (doctor.WARN, f"vhost-vdpa: no permission to open {node}"))
        self.assertIn("be root", advice)


if __name__ == "__main__":
    unittest.main()
