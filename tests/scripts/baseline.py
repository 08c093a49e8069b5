#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane baseline keeps sessions, and compare --base compares results with all of them."""

import contextlib
import io
import json
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes  # noqa: F401: finds dataplane_lib
import made_up
from dataplane_lib import paths
from dataplane_lib.cli import main


class Baseline(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        patch = mock.patch.object(paths, "results", return_value=self.dir / "results")
        patch.start()
        self.addCleanup(patch.stop)
        self.sessions = [self.session(f"s{n}", 20 * (1 + n / 1000), n) for n in range(3)]

    def session(self, directory, latency, second, **study):
        place = made_up.write(self.dir / directory, made_up.arms({"poll": "off"}), lambda _: latency, runs=2, ios=500, **study)
        meta = json.loads((place / "meta.json").read_text())
        meta["started"] = f"2026-01-02 03:04:{second:02}"
        (place / "meta.json").write_text(json.dumps(meta))
        return place

    def status(self, *args):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = main.main([str(a) for a in args])
        self.said = out.getvalue()
        return code

    def compared(self, *results, name="nightly"):
        return self.status("compare", "--base", name, *results, "--fail-if", "iops < -3%", "--out", self.dir / f"o{len(list(self.dir.iterdir()))}")

    def test_stays_when_the_results_go(self):
        self.assertEqual(self.status("baseline", "add", "nightly", *self.sessions), 0, self.said)
        self.assertIn("nightly: 2026-", self.said)
        self.assertIn("3 sessions", self.said)
        for place in self.sessions:
            shutil.rmtree(place)
        later = [self.session(f"l{n}", 22 * (1 + n / 1000), 10 + n) for n in range(3)]
        self.assertEqual(self.compared(*later), 1, self.said)
        self.assertRegex(" ".join(self.said.split()), r"regression: poll=off -9\.\d %")
        same = [self.session(f"e{n}", 20 * (1 + n / 1000), 20 + n) for n in range(3)]
        self.assertEqual(self.compared(*same), 0, self.said)

    def test_a_gate_needs_three_sessions(self):
        self.assertEqual(self.status("baseline", "add", "nightly", *self.sessions[:2]), 0, self.said)
        later = [self.session(f"l{n}", 40, 10 + n) for n in range(3)]
        self.assertEqual(self.compared(*later), 4, self.said)
        self.assertIn("2 sessions on each side are too few", " ".join(self.said.split()))

    def test_list_and_remove(self):
        self.status("baseline", "add", "nightly", *self.sessions[:2])
        self.status("baseline", "add", "other", self.sessions[2])
        self.assertEqual(self.status("baseline", "list"), 0)
        self.assertEqual(self.said, "nightly: 2 sessions of made-up\nother: 1 session of made-up\n")
        self.assertEqual(self.status("baseline", "list", "nightly"), 0)
        first, second = (line.split()[0] for line in self.said.splitlines())
        self.assertEqual(self.status("baseline", "remove", "nightly", first), 0, self.said)
        self.status("baseline", "list", "nightly")
        self.assertEqual([line.split()[0] for line in self.said.splitlines()], [second])
        self.assertEqual(self.status("baseline", "remove", "nightly"), 0, self.said)
        self.assertEqual(self.compared(self.sessions[0]), 2)
        self.assertIn("baseline nightly: not found; there are other", self.said)

    def test_no_session_twice(self):
        self.status("baseline", "add", "nightly", *self.sessions)
        again = self.dir / "again"
        shutil.copytree(self.sessions[1], again)
        self.assertEqual(self.status("baseline", "add", "nightly", again), 2)
        self.assertIn("is a session of baseline nightly already", self.said)
        self.assertEqual(self.compared(again), 2)
        self.assertIn("is a session of baseline nightly already", self.said)

    def test_mistakes(self):
        self.status("baseline", "add", "nightly", self.sessions[0])
        other = self.session("x", 20, 30, name="another")
        for args, word in (((), "arguments are required: action"), (("add",), "names no baseline"), (("add", "nightly"), "names no result"),
                           (("add", "../up", other), "a name has letters"), (("add", "nightly", other), "is of another, but baseline nightly has sessions of made-up"),
                           (("remove", "nightly", "gone"), "session not found: gone"), (("list", "gone"), "baseline gone: not found"),
                           (("add", "nightly", "gone"), "result not found: gone")):
            self.assertEqual(self.status("baseline", *args), 2, (args, self.said))
            self.assertIn(word, self.said)
        self.assertEqual(self.status("compare", "--base", "nightly"), 2)
        self.assertIn("--base nightly needs results", self.said)


if __name__ == "__main__":
    unittest.main()
