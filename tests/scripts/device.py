#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A device of known truth is found again in what it measures like, and 'dataplane device' reads, never writes, and prints a target's options."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections import Counter
from pathlib import Path

import fakes
import numpy as np
from dataplane_lib import paths
from dataplane_lib.cli import device, main
from dataplane_lib.run import device_run
from dataplane_lib.stats import device_fit

EVEN = np.linspace(0.001, 0.999, 501)


def lognormal(median, sigma):
    from scipy.special import ndtri
    return median * np.exp(sigma * ndtri(EVEN))


def bins(times):
    """TIMES in ns as fio's json+ has them."""
    out = Counter()
    for ns in times.astype(int).tolist():
        width = 1 << max(ns.bit_length() - 7, 0)
        out[ns // width * width + width // 2] += 1
    return dict(out)


def measured(model, grid):
    out = []
    for size, depth, write in grid:
        iops, times = device_fit.simulate(model, device_fit.Point(size, depth, write, 0, {}), 20000, seed=7)
        out.append(device_fit.Point(size, depth, write, iops, bins(times)))
    return out


class Device(unittest.TestCase):
    def test_known_truth(self):
        """Within 10 % of IOPS and 15 % of p99 at every point, whichever ceiling there is, and with the law of its times."""
        service = device_fit.Service
        two = np.where(EVEN < 0.9, 60e3, 200e3)
        grid = [(size, depth, False) for size, depth in device_run.READS] + [(size, depth, True) for size, depth in device_run.WRITES]
        for what, truth, law in (("none", device_fit.Model(service(np.full(501, 80e3)), service(np.full(501, 80e3))), "fixed"),
                                 ("parallel", device_fit.Model(service(lognormal(80e3, 0.3), 0.5), service(lognormal(30e3, 0.3), 0.5), parallel=4), "lognormal"),
                                 ("iops", device_fit.Model(service(two), service(two), iops=50e3), None),
                                 ("bandwidth", device_fit.Model(service(lognormal(80e3, 0.2)), service(lognormal(40e3, 0.2)), parallel=16, bandwidth=1e9), "lognormal")):
            with self.subTest(what):
                points = measured(truth, grid)
                found = device_fit.fit(points)
                off = np.abs(np.array(found.errors) - 1)
                self.assertLess(off[:, 0].max(), 0.10)
                self.assertLess(off[:, 1].max(), 0.15)
                named = device_fit.family(found.reads.quantiles)
                self.assertEqual(named and named[0], law)
                self.assertAlmostEqual(np.median(found.writes.quantiles) / np.median(truth.writes.quantiles), 1, delta=0.05)

    def test_options(self):
        with tempfile.TemporaryDirectory() as place:
            model = device_fit.Model(device_fit.Service(np.where(EVEN < 0.9, 60e3, 200e3), 0.5), device_fit.Service(np.full(501, 20e3)), 4, 0, 2e9)
            text = device._options(model, Path(place), 1 << 30)  # pylint: disable=protected-access
            self.assertEqual(text, f"--backend null --size 1073741824 --delay file:{place}/delay-reads.txt --delay-write fixed:20000ns --delay-bw 2000000000 "
                                   "--device-parallel 4 --device-bw 2000000000")
            subprocess.run([paths.built("targets", "vhost-user-blk-target"), *text.split(), "--version"], check=True, stdout=subprocess.DEVNULL)

    def said(self, *args):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main(["device", *args])
        return status, out.getvalue(), err.getvalue()

    def test_reads_only(self):
        """The whole way, with real fio, on a device that answers a write with an error."""
        with tempfile.TemporaryDirectory() as place:
            socket = f"{place}/s"
            target = subprocess.Popen([paths.built("targets", "vhost-user-blk-target"), "--socket", socket, "--delay", "fixed:200us", "--read-only"])
            try:
                while not os.path.exists(socket):
                    time.sleep(0.02)
                with unittest.mock.patch.object(device_run, "READS", ((4096, 1), (4096, 4))):
                    status, out, err = self.said(socket, "--runtime", "0.1", "--out", f"{place}/out", "--json", f"{place}/json")
            finally:
                target.terminate()
                target.wait()
            self.assertEqual(status, 0, err)
            self.assertIn("reading only", err)
            self.assertRegex(out, r"(?m)^--target '--backend null --delay \S+")
            self.assertRegex(out, r"Error of the target over 2 points: IOPS \d+ % \(median\)")
            kept, told = (json.loads((Path(place) / name).read_text()) for name in ("out/device.json", "json"))
            self.assertEqual({k: told[k] for k in kept}, kept)
            self.assertEqual(set(told) - set(kept), {"schema", "version", "sentences", "directory"})

    def test_refused(self):
        with tempfile.TemporaryDirectory() as place:
            small = Path(place) / "small"
            small.write_bytes(b"x")
            for word, *args in (("No such file", f"{place}/gone"), ("--runtime=soon", str(small), "--runtime", "soon"), ("expected a block device", place)):
                status, _, err = self.said(*args)
                self.assertEqual(status, 2, err)
                self.assertIn(word, err)


if __name__ == "__main__":
    if not shutil.which("fio"):
        print("SKIP: needs fio")
        sys.exit(77)
    unittest.main()
