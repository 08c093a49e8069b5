#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an arm of dataplane ab sets is restored, however its run ends."""

import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import fakes


class Restored(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        self.out = self.dir / "out"
        self.log = self.dir / "log"

    def args(self, *more, runtime="0.5"):
        return ("ab", "--a", "poll-max-ns=0", "--b", "--poll-max-ns 16384", str(self.dir / "job.fio"), "--set", "bs=4k",
                "--runtime", runtime, "--pairs", "6", "--seed", "2", "--out", str(self.out), *more)

    def test_restored_after_a_failure(self):
        failing = {**self.env, "FAKE_FIO": "exit"}
        for more, status in (((), 3), (("--fail-if", "iops < -2%"), 3), (("--fail-if", "iops < -2%", "--bisect"), 125)):
            done = fakes.dataplane(*self.args("--set-a", f"echo set >>{self.log}",
                                              "--restore", f"echo restore >>{self.log}", *more), env=failing)
            self.assertEqual(done.returncode, status)
            self.assertIn("made-up trouble", done.stderr)
            self.assertEqual(self.log.read_text(), "set\nrestore\n")
            self.log.unlink()
            subprocess.run(["rm", "-r", str(self.out)], check=True)

    def test_a_set_that_fails_is_restored_too(self):
        done = fakes.dataplane(*self.args("--set-a", f"echo half >>{self.log}; echo no way >&2; exit 3",
                                          "--restore", f"echo restore >>{self.log}"), env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn("exit status 3: no way", done.stderr)
        self.assertEqual(self.log.read_text(), "half\nrestore\n")

    def test_a_restore_that_fails_is_told(self):
        done = fakes.dataplane(*self.args("--set-a", "true", "--restore", "false"), env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn("the machine is not as it was", done.stderr)

    def test_restored_after_control_c(self):
        """Pressed again while restoring, too."""
        proc = subprocess.Popen([str(fakes.DATAPLANE), *self.args(
            "--set-a", f"echo set >>{self.log}", "--restore", f"echo begun >>{self.log}; sleep 0.7; echo restored >>{self.log}",
            runtime="30")], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(proc.kill)
        self.wait_for(lambda: list(self.out.glob("raw/*/fio.err")))
        proc.send_signal(signal.SIGINT)
        self.wait_for(lambda: "begun" in self.log.read_text())
        proc.send_signal(signal.SIGINT)
        self.assertIn("stopped", proc.communicate(timeout=15)[1])
        self.assertEqual(proc.returncode, 130)
        self.assertEqual(self.log.read_text(), "set\nbegun\nrestored\n")

    def wait_for(self, condition):
        limit = time.monotonic() + 15
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
