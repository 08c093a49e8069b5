#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane history: every result once, whole or not at all whoever is killed, hosts apart, and steps where the level changed."""

import contextlib
import csv
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fakes  # noqa: F401
import made_up
import numpy as np
from dataplane_lib.cli import main
from dataplane_lib.errors import NotMeasured
from dataplane_lib.read import history
from dataplane_lib.stats import steps

SRC = Path(__file__).resolve().parents[2]
_WRITER = f"""
import sys
sys.path.insert(0, {str(SRC / "scripts")!r})
from dataplane_lib.read import history
path, who = sys.argv[1:3]
for n in range(int(sys.argv[3])):
    about = dict(name=f"{{who}} {{n}}", date=f"2026-01-01 {{n:06}}", commit="c", study="s", host="h", fio="f", rtt_ns=None)
    history.append(path, about, [(f"arm{{k}}", "iops", 1.0, None, None, 1, None) for k in range(5)])
    print(n, flush=True)
"""


class Steps(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(4)

    def night(self, level, count):
        return list(1000 * level * np.exp(self.rng.normal(0, 0.01, count)))

    def test_found_where_they_are(self):
        self.assertEqual([n for n, _ in steps.find(self.night(1, 15) + self.night(0.95, 10))], [15])
        self.assertEqual([n for n, _ in steps.find(self.night(1, 10) + self.night(0.95, 10) + self.night(1.02, 10))], [10, 20])

    def test_one_odd_night_is_none(self):
        self.assertEqual(steps.find(self.night(1, 12) + self.night(0.8, 1) + self.night(1, 12)), [])

    def test_seldom_where_there_are_none(self):
        self.assertLessEqual(sum(bool(steps.find(self.night(1, 20))) for _ in range(100)), 5)

    def test_few_or_equal_nights(self):
        self.assertEqual(steps.find([]), [])
        self.assertEqual(steps.find([1.0, 2.0]), [])
        self.assertEqual(steps.find([5.0] * 20), [])


class Store(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.db = self.dir / "h.db"

    def writer(self, who, count):
        return subprocess.Popen([sys.executable, "-c", _WRITER, str(self.db), who, str(count)], stdout=subprocess.PIPE, text=True)

    def test_two_writers_at_once_one_killed_at_any_moment(self):
        rng = random.Random(5)
        steady = self.writer("steady", 60)
        said = {}
        for n in range(4):
            victim = self.writer(f"victim{n}", 10000)
            said[n] = int(victim.stdout.readline())
            time.sleep(rng.uniform(0, 0.1))
            victim.send_signal(signal.SIGKILL)
            said[n] = max([said[n], *map(int, victim.communicate()[0].split())])
        self.assertEqual(len(steady.communicate()[0].split()), 60)
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            # No row is torn: each result has all its figures.
            self.assertEqual(db.execute("SELECT DISTINCT n FROM (SELECT count(f.result) n FROM results r LEFT JOIN figures f ON f.result = r.id GROUP BY r.id)").fetchall(), [(5,)])
            # None is lost: all that was reported is there.
            names = {name for name, in db.execute("SELECT name FROM results")}
        self.assertLessEqual({f"steady {n}" for n in range(60)} | {f"victim{v} {n}" for v, last in said.items() for n in range(last + 1)}, names)

    def test_one_killed_while_it_makes_the_store(self):
        rng, made = random.Random(6), 0
        for n in range(60):
            if n >= 8 and made:
                break
            self.db = self.dir / f"{n}.db"
            victim = self.writer("victim", 10000)
            # A process takes a moment to get there; then it is killed within its first transactions.
            end = time.monotonic() + 20
            while not self.db.exists() and time.monotonic() < end:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.004))
            victim.send_signal(signal.SIGKILL)
            said = victim.communicate()[0].split()
            made += not said
            about = dict(name="later", date="d", commit="c", study="s", host="h", fio="f")
            self.assertTrue(history.append(self.db, about, [(f"arm{k}", "iops", 1.0, None, None, 1, None) for k in range(5)]))
            with contextlib.closing(sqlite3.connect(self.db)) as db:
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                counts = dict(db.execute("SELECT r.name, count(f.result) FROM results r LEFT JOIN figures f ON f.result = r.id GROUP BY r.id"))
            self.assertEqual(set(counts.values()), {5})
            self.assertLessEqual({f"victim {k}" for k in said}, set(counts))
        self.assertGreater(made, 0, "none was killed before its first result was in")

    def said(self, *args, expected=0):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(main.main([str(a) for a in args]), expected, err.getvalue())
        return out.getvalue()

    def nights(self, speeds, host="one"):
        places = []
        for n, us in enumerate(speeds):
            place = made_up.write(self.dir / f"{host}{n}", made_up.arms({"poll": "off"}, {"poll": "busy"}), lambda i, us=us: us * (1 + i), runs=2, ios=500)
            meta = json.loads((place / "meta.json").read_text())
            meta["started"] = f"2026-01-{n + 1:02} 03:00:00"
            meta["host"].update({"fio-dataplane": f"c{n}", "memory": host})
            (place / "meta.json").write_text(json.dumps(meta))
            places.append(place)
        return places

    def test_shown_and_exported(self):
        first = self.nights([20] * 7 + [22] * 6)
        other = self.nights([30], "other")
        self.said("history", "add", self.db, *first, *other)
        self.assertIn("was there already", self.said("history", "add", self.db, first[0]))
        text = self.said("history", "show", self.db)
        # Two arms on each of two hosts, never in one series.
        self.assertEqual(text.count(" night"), 4)
        self.assertRegex(text, r"2026-01-08 03:00  c7 +\S+  \S+ \[.*\]  <- step -[89]\.\d %")
        self.assertEqual(text.count("<- step"), 2)
        # The ratio to the same night's baseline has not moved.
        self.assertNotIn("<- step", self.said("history", "show", self.db, "--ratio"))
        rows = list(csv.DictReader(io.StringIO(self.said("history", "export", self.db, "--otava"))))
        self.assertEqual(len(rows), 28)
        self.assertEqual(list(rows[0])[:5], ["time", "commit", "study", "arm", "host"])
        self.assertEqual(rows[0]["time"], "2026-01-01T03:00:00")
        self.assertGreater(float(rows[0]["iops"]), 0)

    def test_mistakes(self):
        self.said("history", "show", self.db, expected=2)
        self.said("history", "add", self.db, expected=2)
        (self.dir / "text").write_text("no store" * 1000)
        self.said("history", "show", self.dir / "text", expected=3)
        with contextlib.closing(sqlite3.connect(self.dir / "newer")) as db:
            db.execute("PRAGMA user_version = 99")
            db.execute("CREATE TABLE x (y)")
        with self.assertRaisesRegex(NotMeasured, "version 99"):
            history.series(self.dir / "newer")
        self.assertFalse(os.path.exists(self.db))


if __name__ == "__main__":
    unittest.main()
