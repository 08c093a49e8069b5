#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An arm whose runs differ far beyond those of the others has them made again, once."""

import json
import lzma
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.errors import NotMeasured
from dataplane_lib.read import store


class Again(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.directory = Path(tmp.name)
        self.env = fakes.install(self.directory)

    def sweep(self, mode, out="out"):
        done = fakes.dataplane("sweep", str(self.directory / "job.fio"), "--vary", "poll-max-ns=0,4096,16384", "--set", "bs=4k",
                               "--baseline", "poll=off", "--runtime", "0.5", "--repeats", "2", "--out", str(self.directory / out),
                               env={**self.env, "FAKE_FIO": mode})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, store.load(self.directory / out)

    def test_its_second_runs_take_the_place_of_the_first(self):
        done, found = self.sweep("disturbed-once")
        name = "poll-max-ns=4096"
        self.assertIn(f"dataplane: 4 runs again: arm {name} was unsteady, IOPS from 12.5k to 25.0k", done.stderr)
        runs = [run for run in found.runs if not run.warmup]
        self.assertEqual(len(runs), 4 * 2 + 4)
        self.assertEqual([(run.arm, run.repeat) for run in runs if run.facts.get("replaced")], [(name, 1), (name, 2)])
        self.assertEqual([round(run.metrics["iops"]) for run in found.of_arm(name)], [25000, 25000])
        # The arm it is compared with ran beside it, and has both sets.
        self.assertEqual([run.repeat for run in found.of_arm("poll=off")], [1, 2, 3, 4])
        self.assertEqual({run.arm for run in runs[8:]}, {name, "poll=off"})
        self.assertIn(f"Made again and replaced, as the first runs differed far more than those of other arms: {name} (IOPS 12.5k to 25.0k).",
                      fakes.unwrapped(done.stdout))
        again = json.loads((self.directory / "out" / "result.json").read_text())
        self.assertEqual({a["name"]: a["runs"] for a in again["arms"]}, {"poll=off": 4, "poll-max-ns=0": 2, name: 2, "poll-max-ns=16384": 2})

    def test_once_only_and_then_it_is_a_warning(self):
        done, found = self.sweep("disturbed-always")
        self.assertEqual(len([run for run in found.runs if not run.warmup]), 4 * 2 + 4)
        self.assertEqual(done.stderr.count("runs again"), 1)
        found = json.loads((self.directory / "out" / "result.json").read_text())
        self.assertIn("poll-max-ns=4096: its runs differ far more", found["warnings"][0])

    def test_nothing_is_made_again_where_all_are_steady(self):
        done, found = self.sweep("")
        self.assertEqual(len([run for run in found.runs if not run.warmup]), 8)
        self.assertNotIn("again", found.header)
        self.assertNotIn("again", done.stdout + done.stderr)

    def test_a_file_that_says_something_else_is_refused(self):
        _, found = self.sweep("disturbed-once")
        path = found.place / store.FILE
        whole = lzma.decompress(path.read_bytes()).decode().splitlines()
        for wrong in (7, {}, {"replaced": {"x": 1}, "beside": []}, {"replaced": {}, "beside": []}):
            header = {**json.loads(whole[0]), "again": wrong}
            path.write_bytes(lzma.compress("\n".join([json.dumps(header), *whole[1:]]).encode()))
            with self.assertRaises(NotMeasured):
                store.load(found.place)


if __name__ == "__main__":
    unittest.main()
