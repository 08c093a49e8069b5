#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane compare says first in what the hosts differ, and what differs is compared arm by arm."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.judge import compare
from dataplane_lib.read import store
from dataplane_lib.errors import Refused


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.tmp.cleanup)
        cls.dir = Path(cls.tmp.name)
        cls.env = fakes.install(cls.dir)
        cls.one = cls.dir / "one"
        done = fakes.dataplane("sweep", str(cls.dir / "job.fio"), "--vary", "poll-max-ns=0,16384", "--set", "bs=4k",
                               "--runtime", "0.5", "--repeats", "4", "--warmup", "0", "--keep-raw", "--out", str(cls.one), env=cls.env)
        assert done.returncode == 0, done.stderr

    def other(self, name, faster=1.0, **host):
        """A copy of the result with other facts about its host, and other figures."""
        place = self.dir / name
        shutil.copytree(self.one, place)
        # As an older version left it: all in files of their own.
        (place / store.FILE).unlink()
        meta = json.loads((place / "meta.json").read_text())
        meta["host"].update(host)
        (place / "meta.json").write_text(json.dumps(meta))
        for path in place.glob("raw/*/fio.json"):
            doc = json.loads(path.read_text())
            for job in doc["jobs"]:
                job["read"]["iops"] *= faster
            path.write_text(json.dumps(doc))
        return place

    def compared(self, place, *more):
        out = self.dir / f"{place.name}-out"
        done = fakes.dataplane("compare", str(self.one), str(place), "--out", str(out), "-v", *more, env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return fakes.unwrapped(done.stdout).splitlines(), json.loads((out / "result.json").read_text()), (out / "report.html").read_text()

    def test_another_host(self):
        said, result, page = self.compared(self.other("host", kernel="Linux 7.0", SMT="on"))
        self.assertTrue(said[0].startswith("! the hosts or their software differ"), said[0])
        self.assertIn("/ Linux 7.0)", said[0])
        self.assertIn("the hosts or their software differ", page)
        self.assertEqual(result["warnings"][0], said[0][2:])
        self.assertTrue(result["host"]["kernel"].endswith(" / Linux 7.0"))

    def test_the_same_host_and_other_figures(self):
        said, result, _ = self.compared(self.other("figures", 1.1, date="later", load="9 9 9"), "--wide")
        self.assertIn("are the same", said[0])
        rows = [line for line in said if line.startswith("poll-max-ns=")]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertRegex(row, r"IOPS .*\+10\.0 % \(\+\d+\.\d+ % to \+\d+\.\d+ %\)$")
        self.assertEqual(len(result["arms"]), 4)
        self.assertEqual(len(result["runs"]), 16)
        raw = self.dir / "figures-out" / "raw"
        raw.mkdir()
        self.assertTrue(all((raw / run["directory"] / "fio.json").exists() for run in result["runs"]))
        self.assertTrue(any("one session on a side" in line for line in said))
        self.assertNotRegex("\n".join(said), r"p=|faster|slower|significant")

    def test_several_sessions(self):
        """Three sessions a side, each on a level of its own: 10 % is found, 1 % is not, however alike the runs of a session are."""
        sides = [[self.other(f"{name}{k}", level * faster) for k, level in enumerate((1.0, 1.01, 0.99))] for name, faster in (("b", 1.001), ("a", 1.1))]
        out = self.dir / "sessions-out"
        done = fakes.dataplane("compare", "--before", *map(str, sides[0]), "--after", *map(str, sides[1]), "--out", str(out), env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"2 is 9\.9 % faster than 1: IOPS 95 % CI \+\d\.\d % to \+1\d\.\d %")
        done = fakes.dataplane("compare", "--before", *map(str, sides[0][:2]), "--after", str(sides[0][2]), str(self.one), "--out", f"{out}2", env=self.env)
        self.assertIn("No significant difference (95 % CI -", done.stdout)

    def test_settings_that_differ_come_first(self):
        place = self.other("settings")
        meta = json.loads((place / "meta.json").read_text())
        meta["study"].update(options=["--poll", "busy"], program="nbd-target", runtime=2.0, seed=1)
        (place / "meta.json").write_text(json.dumps(meta))
        (place / "job.fio").write_text("[another]\n")
        said, result, page = self.compared(place)
        self.assertIn("the settings differ: program: vhost-user-blk-target / nbd-target; options: none / --poll busy; runtime: 0.5 / 2.0", said[1])
        self.assertIn("the job files differ", said[2])
        self.assertNotIn("seed", said[1])
        self.assertEqual(result["study"]["program"], "vhost-user-blk-target / nbd-target")
        self.assertIn("0.5 / 2.0", page)

    def test_refused(self):
        for word, other in (("same result is given twice", self.one), ("result not found", self.dir)):
            done = fakes.dataplane("compare", str(self.one), str(other), env=self.env)
            self.assertEqual(done.returncode, 2)
            self.assertIn(word, done.stderr)

    def test_many_arms_are_not_all_listed(self):
        one, two = ({"arms": [{"name": f"{name}={n}"} for n in range(35)]} for name in "ab")
        with self.assertRaisesRegex(Refused, "no arm in common between x and y: a=0, a=1, .*a=5 and 29 more / b=0, .* and 29 more$"):
            compare._matched([one], [two], ["x", "y"])

    def test_passing_facts_do_not_count(self):
        facts = {"date": "a", "load": "1", "kernel": "x"}
        self.assertIn("are the same", compare.hosts({"host": facts}, {"host": {**facts, "date": "b", "load": "2"}}))
        self.assertIn("fio (unknown / 3.33)", compare.hosts({"host": facts}, {"host": {**facts, "fio": "3.33"}}))


if __name__ == "__main__":
    unittest.main()
