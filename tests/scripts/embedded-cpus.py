#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# alone: it looks where the threads of a run are
"""A target inside fio has the CPU of targets, its job the one of jobs, whether the job file pins itself or not; others are noticed."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fakes
from dataplane_lib.host import cpu
from dataplane_lib.model import jobfile, targets
from dataplane_lib.run import runner

BUILD = Path(os.environ.get("FIO_DATAPLANE") or fakes.ROOT / os.environ.get("B", "build")).resolve()
JOB = """[j]
ioengine=external:${FIO_DATAPLANE}/engines/virtio-poll.so
target=--backend ram --size 16M
rw=randread
bs=${bs}
time_based=1
runtime=${runtime}
lat_percentiles=1
"""


class Embedded(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)

    def placed(self, more, fio, target):
        """{thread of fio: its CPUs} while a job with the lines MORE runs, FIO and TARGET being the CPUs asked for."""
        (self.dir / "job.fio").write_text(JOB + more)
        proc = subprocess.Popen([str(fakes.DATAPLANE), "sweep", str(self.dir / "job.fio"), "--vary", "bs=4k", "--repeats", "1", "--warmup", "0",
                                 "--runtime", "2", "--cpus", f"{fio},{target}", "--out", str(self.dir / "out")],
                                env={**os.environ, "FIO_DATAPLANE": str(BUILD)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seen, limit = {}, time.monotonic() + 60
        while proc.poll() is None and time.monotonic() < limit:
            for pid in cpu.family(proc.pid):
                for task in Path(f"/proc/{pid}/task").glob("*"):
                    try:
                        name = (task / "comm").read_text().strip()
                        status = (task / "status").read_text()
                    except OSError:
                        continue
                    cpus = next(line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list"))
                    seen.setdefault(name, set()).add(cpus)
            time.sleep(0.05)
        said = proc.communicate()[0]
        self.assertEqual(proc.returncode, 0, said)
        return seen

    def test_cpus(self):
        fio, target = sorted(os.sched_getaffinity(0))[:2]
        for n, more in enumerate(("", "cpus_allowed=${fio_cpus}\n")):
            with self.subTest(more):
                self.dir = self.dir / str(n)
                self.dir.mkdir()
                seen = self.placed(more, fio, target)
                threads = [name for name in seen if name.startswith("iothread")]
                self.assertTrue(threads, seen)
                # An iothread is on its maker's CPUs until it is placed.
                self.assertTrue(all(str(target) in seen[name] and str(fio) not in seen[name] for name in threads), seen)
                self.assertIn(str(fio), set().union(*seen.values()), seen)

    def test_transports(self):
        """A device elsewhere is none that needs a CPU here."""
        for line, inside in (("", 1), ("transport=embedded", 1), ("transport=vhost-user", 0), ("transport=vfio-pci\ndevice=0000:00:04.0", 0)):
            (self.dir / "job.fio").write_text(JOB + line + "\n")
            self.assertEqual(len(targets.embedded(jobfile.load(self.dir / "job.fio"))), inside, line)

    def test_neighbours(self):
        """What the CPUs did beside fio's threads is others' work."""
        def sample(t):
            return {"t": t, "threads": {"7": ["fio", int(t * 1e9), t, 0.0], "8": ["iothread0", int(0.5e9 * t), 0.5 * t, 0.0]},
                    "cpus": {"0": [int(100 * t), 0, 0, 0, 0, 0, 0, 0], "1": [int(90 * t), 0, 0, int(10 * t), 0, 0, 0, 0]}}
        taken = [sample(t / 10) for t in range(31)]
        self.assertAlmostEqual(runner._neighbours(taken, 3.0, 2.0), 40, delta=1)
        self.assertEqual(runner._neighbours(taken[:1], 3.0, 2.0), 0.0)


if __name__ == "__main__":
    if len(os.sched_getaffinity(0)) < 2:
        print("SKIP: needs two CPUs")
        sys.exit(77)
    if not (BUILD / "engines" / "virtio-poll.so").exists():
        print("SKIP: virtio-poll.so is not built")
        sys.exit(77)
    unittest.main()
