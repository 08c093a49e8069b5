#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Gated runs go into the history by themselves, and ab --against last-good compares with the last commit there that passed."""

import contextlib
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes
import made_up
from dataplane_lib import paths
from dataplane_lib.cli import main, options
from dataplane_lib.errors import NotMeasured
from dataplane_lib.host import system
from dataplane_lib.read import history
from dataplane_lib.report import write
from dataplane_lib.run import against

_MAKEFILE = """all:
	mkdir -p build/engines build/targets build/tools
	cp target build/targets/vhost-user-blk-target
	echo built >>built
"""


@unittest.skipUnless(shutil.which("make") and shutil.which("git"), "no make or git")
class Nights(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir, self.home = Path(tmp.name), Path(tmp.name) / "home"
        self.db = self.dir / "nights.db"
        self.home.mkdir()
        env = fakes.install(self.dir)
        env["FIO_DATAPLANE_HISTORY"] = str(self.db)
        for patch in (mock.patch.object(paths, "HOME", self.home), mock.patch.dict(os.environ, env)):
            patch.start()
            self.addCleanup(patch.stop)
        self.git("init", "-q")
        (self.home / "Makefile").write_text(_MAKEFILE)
        (self.home / ".gitignore").write_text("/results\n/build\n")
        shutil.copy(self.dir / "targets" / "vhost-user-blk-target", self.home / "target")
        self.commit("first")

    def git(self, *args):
        return subprocess.run(["git", "-C", str(self.home), "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", *args], capture_output=True, text=True, check=True,
                              env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}).stdout.strip()

    def commit(self, text):
        (self.home / "note").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", text)
        return self.git("describe", "--always")

    def ab(self, *more, window=0):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main.main(["ab", "--b", f"poll-max-ns={window}", str(self.dir / "job.fio"), "--set", "bs=4k", "--runtime", "0.5", "--pairs", "6", "--warmup", "0",
                              "--fail-if", "iops < -2%", "--out", str(self.dir / f"o{len(list(self.dir.iterdir()))}"), *more])
        self.said = said.getvalue()
        return code

    def rows(self):
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            return db.execute('SELECT "commit", against, gate FROM results ORDER BY id').fetchall()

    def good(self, commit, n):
        history.append(self.db, {"name": str(n), "date": f"2026-01-0{n}", "commit": commit, "study": "ab-job", "host": system.fingerprint(system.facts()), "fio": "f", "gate": 0}, [])

    def test_a_night_against_the_last_good_one(self):
        first = self.git("describe", "--always")
        self.assertEqual(self.ab("--against", "last-good"), 2, self.said)
        self.assertIn("no good commit of ab-job on this host in", self.said)
        self.assertEqual(against.build("last-good,HEAD", self.db, "ab-job")[0], first)
        self.good(first, 1)
        second = self.commit("second")
        # It is slow without its window: 25 k instead of 50 k.
        self.assertEqual(self.ab("--against", "last-good,nothing", "--a", "poll-max-ns=16384"), 1, self.said)
        self.assertIn(f"arm A is {self.git('log', '-1', '--format=%h %s', first)}", self.said)
        self.assertEqual(self.rows(), [(first, "", 0), (second, first, 1)])
        self.good(f"{self.commit('third')}-dirty", 2)
        self.assertEqual(against.build("last-good", self.db, "ab-job")[0], first)
        # One build for all of them.
        self.assertEqual([path.read_text() for path in self.home.glob("results/against/trees/*/built")], ["built\n"])

    def test_mistakes(self):
        for more, word in (((), "required: --a, or --against"), (("--against", "nothing"), "nothing: no commit of"), (("--against", ",HEAD"), "an empty name"),
                           (("--against", "HEAD", "--a", f"tree={self.home}"), "exclude each other"), (("--a", "", "--no-history", "--history", "x"), "exclude each other")):
            self.assertEqual(self.ab(*more), 2, self.said)
            self.assertIn(word, self.said)
        self.assertFalse(self.db.exists())


class Stores(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = {**fakes.install(self.dir), "FIO_DATAPLANE_HISTORY": str(self.dir / "nights.db")}

    def sweep(self, *more):
        return fakes.dataplane("sweep", str(self.dir / "job.fio"), "--set", "bs=4k", "--runtime", "0.5", "--vary", "poll-max-ns=0", "--repeats", "1", "--warmup", "0",
                               "--out", str(self.dir / f"o{len(list(self.dir.iterdir()))}"), *more, env=self.env)

    def test_the_page_shows_the_nights_before(self):
        def report():
            with mock.patch.dict(os.environ, self.env), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(main.main(["report", str(places[0])]), 0)
            return (places[0] / "report.html").read_text()
        places = [made_up.write(self.dir / f"m{n}", made_up.arms({"poll": "off"}, {"poll": "busy"}), lambda i: 20 + i) for n in range(2)]
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(main.main(["history", "add", str(self.dir / "nights.db"), str(places[0])]), 0)
            self.assertNotIn("nights of", report())
            (places[1] / "meta.json").write_text((places[1] / "meta.json").read_text().replace("2026-01-02", "2026-01-03"))
            self.assertEqual(main.main(["history", "add", str(self.dir / "nights.db"), str(places[1])]), 0)
        self.assertIn("2 nights of made-up on this host", report())

    def test_only_gated_runs_unless_asked_for(self):
        self.assertEqual(self.sweep().returncode, 0)
        self.assertFalse((self.dir / "nights.db").exists())
        for given, expected in ((["--history", "x"], ("x", True)), (["--no-history"], (None, False))):
            self.assertEqual(options.history(main.commands().parse(["sweep", "job.fio", *given], str)), expected)

    def test_a_store_that_is_none_does_not_hide_a_regression(self):
        (self.dir / "nights.db").write_text("no store" * 1000)
        place = made_up.write(self.dir / "m", made_up.arms({"poll": "off"}, {"poll": "busy"}), lambda i: 20 + 5 * i, fail_if=["iops < -2%"])
        for asked in (None, True):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(write.report(place, nights=self.dir / "nights.db", keep=asked)["gate"]["status"], 1)
            self.assertIn("not in the history:", said.getvalue())
        # Without a regression to report, a store that was asked for and is none is an error.
        fine = made_up.write(self.dir / "f", made_up.arms({"poll": "off"}, {"poll": "busy"}), lambda i: 20, fail_if=["iops < -20%"])
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaises(NotMeasured):
            write.report(fine, nights=self.dir / "nights.db", keep=True)

    def test_one_of_the_first_version_is_taken_over(self):
        path = self.dir / "old.db"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.executescript('''CREATE TABLE results (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, date TEXT NOT NULL, "commit" TEXT NOT NULL, study TEXT NOT NULL,
                                  host TEXT NOT NULL, fio TEXT NOT NULL, rtt_ns REAL);
                                CREATE TABLE figures (result INTEGER NOT NULL REFERENCES results (id), arm TEXT NOT NULL, metric TEXT NOT NULL, median REAL NOT NULL,
                                  low REAL, high REAL, n INTEGER NOT NULL, ratio REAL, PRIMARY KEY (result, arm, metric));
                                INSERT INTO results VALUES (1, 'r', 'd', 'c', 's', 'h', 'f', NULL); INSERT INTO figures VALUES (1, 'a', 'iops', 5, NULL, NULL, 1, NULL);
                                PRAGMA user_version = 1;''')
        (rows,) = history.series(path).values()
        self.assertEqual([(r["commit"], r["median"], r["against"], r["gate"]) for r in rows], [("c", 5, "", None)])
        place = made_up.write(self.dir / "new", made_up.arms({"poll": "off"}), lambda i: 20)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(main.main(["history", "add", str(path), str(place)]), 0)
        self.assertEqual(len(history.series(path, "iops")), 2)


if __name__ == "__main__":
    unittest.main()
