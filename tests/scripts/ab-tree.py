#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An arm may be a work tree: it is made first, and its own programs are run; one that does not build is neither good nor bad."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes

# What make does for the project, as far as ab can see: a build/ with engines, targets and tools.
MAKEFILE = """all:
	mkdir -p build/engines build/targets
	cp target build/targets/vhost-user-blk-target
"""


@unittest.skipUnless(shutil.which("make"), "no make")
class Tree(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        self.tree = self.dir / "tree"
        self.tree.mkdir()
        (self.tree / "Makefile").write_text(MAKEFILE)
        shutil.copy(self.dir / "targets" / "vhost-user-blk-target", self.tree / "target")
        (self.dir / "job.fio").write_text(fakes.JOB + "; ${FIO_DATAPLANE}\ndirectory=${FIO_DATAPLANE}\n")

    def ab(self, *more):
        return fakes.dataplane("ab", "--a", "", "--b", f"tree={self.tree}", str(self.dir / "job.fio"), "--set", "bs=4k",
                               "--runtime", "0.5", "--pairs", "6", "--warmup", "0", "--out", str(self.dir / "out"), *more,
                               env=self.env)

    def test_its_programs_are_run(self):
        # One pair is enough to see it: what comes after the second run fails.
        seen = self.dir / "seen"
        done = self.ab("--set-a", "true", "--set-b", "true", "--restore", f"if [ -e {seen} ]; then echo enough >&2; exit 1; fi; touch {seen}")
        self.assertIn("enough", done.stderr)
        runs = {}
        for path in sorted((self.dir / "out" / "raw").iterdir()):
            run = json.loads((path / "run.json").read_text())
            runs[run["values"]["arm"]] = run
        for arm, place in (("A", self.dir), ("B", (self.tree / "build").resolve())):
            run = runs[arm]
            self.assertTrue(run["target"].startswith(f"{place}/targets/vhost-user-blk-target "), run["target"])
            self.assertEqual(run["environment"]["FIO_DATAPLANE"], str(place))

    def test_one_that_does_not_build(self):
        (self.tree / "Makefile").write_text("all:\n\t@echo no such luck >&2; exit 1\n")
        for more, status in (((), 3), (("--fail-if", "iops < -2%"), 3), (("--fail-if", "iops < -2%", "--bisect"), 125)):
            done = self.ab(*more)
            self.assertEqual(done.returncode, status)
            self.assertIn(f"make -C {self.tree.resolve()}: exit status 2", done.stderr)


if __name__ == "__main__":
    unittest.main()
