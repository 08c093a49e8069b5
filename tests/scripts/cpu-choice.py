#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The two CPUs are of one socket, of two cores, high numbers; moved distances are marked."""

import subprocess
import unittest
import unittest.mock

import fakes  # noqa: F401
from dataplane_lib.host import cpus, rtt
from dataplane_lib.errors import Refused, RunFailed


def choose(allowed, siblings=None, package=None, wanted=None):
    pin = cpus.choose(wanted, allowed, siblings or (lambda c: {c}), package or (lambda c: 0))
    return pin.fio, pin.target, sorted(pin.rest)


class Choice(unittest.TestCase):
    def test_high_numbers(self):
        self.assertEqual(choose({0, 1, 2, 3}), (2, 3, [0, 1]))

    def test_not_hardware_threads_of_one_core(self):
        self.assertEqual(choose({0, 1, 2, 3}, lambda c: {c & ~1, c | 1}), (1, 3, [0, 2]))

    def test_one_socket(self):
        self.assertEqual(choose({0, 1, 2}, package=lambda c: 0 if c < 2 else 1)[:2], (0, 1))

    def test_one_cpu_is_said(self):
        pin = cpus.choose(None, {5})
        self.assertFalse(pin.pinned)
        self.assertIn("one CPU", pin.note)
        self.assertIsNone(rtt.measure(pin))

    def test_siblings_only_is_said(self):
        self.assertIn("one core", cpus.choose(None, {0, 1}, lambda c: {0, 1}, lambda c: 0).note)

    def test_wanted(self):
        self.assertEqual(choose({0, 1, 2}, wanted="2,0"), (2, 0, [1]))
        for bad in ("0", "0,0", "0,x", "0,7"):
            with self.assertRaisesRegex(Refused, "--cpus"):
                choose({0, 1}, wanted=bad)

    def test_kernel_list(self):
        self.assertEqual(cpus.parse_list("0,2-4\n"), {0, 2, 3, 4})


class Distance(unittest.TestCase):
    def test_same(self):
        self.assertEqual(rtt.marks(100, 110, 105), [])

    def test_changed_during_the_run(self):
        self.assertIn("changed", rtt.marks(57, 128, 90)[0])

    def test_far_from_the_rest(self):
        self.assertIn("median", rtt.marks(520, 520, 128)[0])
        self.assertIn("median", rtt.marks(57, 57, 128)[0])

    def test_unpinned(self):
        self.assertEqual(rtt.marks(None, None, None), [])

    def test_cpus_that_others_keep_busy(self):
        with unittest.mock.patch("subprocess.run", side_effect=subprocess.TimeoutExpired("rtt", 30)):
            with self.assertRaisesRegex(RunFailed, "rtt .*: no result within 30 s: other programs"):
                rtt.measure(cpus.choose(None, {0, 1}))


if __name__ == "__main__":
    unittest.main()
