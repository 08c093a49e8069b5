#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane match with made-up programs: a peer that takes longer is measured, and followed with a cost."""

import contextlib
import io
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.cli import main

# A server that takes 20 us longer than the fake target does.
_PEER = """#!/usr/bin/python3
import signal, socket, sys
if "--version" in sys.argv:
    print("qemu-nbd 0.0 (made-up)"); sys.exit(0)
path = sys.argv[sys.argv.index("-k") + 1]
with open(path + ".args", "w") as file:
    file.write("--request-cost 20000ns")
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
signal.pause()
"""


class Match(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        shutil.copy(self.dir / "targets/vhost-user-blk-target", self.dir / "targets/nbd-target")
        (self.dir / "bin/qemu-nbd").write_text(_PEER)
        (self.dir / "bin/qemu-nbd").chmod(0o755)

    def test_whole(self):
        out = self.dir / "out"
        done = fakes.dataplane("match", "--peer", "qemu-nbd", "--iodepth", "4", "--bs", "4k", "--steps", "1", "--repeats", "1",
                               "--runtime", "0.5", "--out", str(out), env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = fakes.runs(out)
        who = [(r["values"]["server"], r["warmup"]) for r in runs]
        self.assertEqual([sorted(who[a:b]) for a, b in ((0, 2), (2, 4), (4, 7))],
                         [[("qemu-nbd", True), ("target", True)], [("fitted", True), ("qemu-nbd", True)],
                          [("fitted", False), ("qemu-nbd", False), ("target", False)]])
        found = json.loads((out / "result.json").read_text())["match"]
        self.assertAlmostEqual(found["errors"]["threads"]["target"], 0.5, delta=0.01)
        self.assertLess(found["errors"]["threads"]["fitted"], 0.05)
        # The fake target sleeps at every other request.
        request, wakeup = found["costs"]["threads"]
        self.assertAlmostEqual(request + wakeup / 2, 20000, delta=1000)
        self.assertIn(f"--request-cost {request}ns --wakeup-cost {wakeup}ns", next(r for r in runs[4:] if r["values"]["server"] == "fitted")["target"])
        self.assertRegex(done.stdout, r"threads: request cost \d+ ns \(95 % CI \d+ to \d+ ns\), wake-up cost")
        self.assertIn("off those of qemu-nbd by 50.0 % as it is (median)", fakes.unwrapped(done.stdout))
        self.assertIn("Point by point", (out / "report.html").read_text())
        again = fakes.dataplane("report", str(out), env=self.env)
        self.assertEqual(again.stdout, done.stdout)

    def test_mistakes(self):
        for word, *more in (("accepted: qemu-nbd", "--peer", "spdk"), ("--backend ram: unknown", "--backend", "ram"),
                            ("--iodepth 0", "--iodepth", "0"), ("--bs", "--bs", "4q"), ("given twice", "--bs", "4k,4k"),
                            ("--steps must be 0 or more", "--steps", "-1"), ("--guest", "--guest", "--vcpus 2"), ("repeats=0", "--repeats", "0")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
                self.assertEqual(main.main(["match", "--peer", "qemu-nbd", *more]), 2, more)
            self.assertEqual(len(said.getvalue().splitlines()), 1, said.getvalue())
            self.assertIn(word, said.getvalue())


if __name__ == "__main__":
    unittest.main()
