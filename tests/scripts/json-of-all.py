#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""--json of every command: one object on stdout, nothing else there, and it is documented."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes
import made_up
import made_up_trace as traces
from dataplane_lib import paths
from dataplane_lib.cli import main
from dataplane_lib.read import store
from dataplane_lib.run import replay

SRC = Path(__file__).resolve().parents[2]
# They print no figures.
_NONE = {"env", "bind", "unbind"}
# All of these end in cli/execute.py, as sweep does, which is tried.
_AS_SWEEP = {"run", "ab", "matrix", "match"}
# With a real fio, or a git history, in tests of their own.
_ELSEWHERE = {"device": "device.py", "selfcheck": "selfcheck.py", "bisect": "bisect-commits.py", "selftest": "stats-selftest.py"}


class Json(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(tmp.cleanup)
        cls.addClassCleanup(traces.clean_up)
        cls.dir = Path(tmp.name)
        for patch in (mock.patch.dict(os.environ, fakes.install(cls.dir)), mock.patch.object(paths, "results", return_value=cls.dir / "results")):
            patch.start()
            cls.addClassCleanup(patch.stop)
        arms = made_up.arms({"poll": "off"}, {"poll": "busy"})
        cls.one, cls.two = (made_up.write(cls.dir / name, arms, lambda i: 20 + i, ios=50000, cpu=lambda i: 50) for name in ("one", "two"))
        cls.waited = made_up.write(cls.dir / "waited", arms, lambda i: 20 + i, cpu=lambda i: 50)
        waits = {"options": {"poll": "off", "poll-max-ns": "0"},
                 "iothreads": [{"waits_ns": {"idle": [[8192, 1000]], "in_flight": [[57344, 1000]]}, "requests": {"read": 10 ** 7}, "sleeps": 2000, "errors": 0,
                                "notifications": {"received": 1000, "sent": 1000, "suppressed": 0}, "switches": {"voluntary": 2000, "involuntary": 0}}]}
        for path in (cls.waited / "raw").iterdir():
            (path / "target-stats.json").write_text(json.dumps(waits))
        cls.db = cls.dir / "h.db"
        cls.trace = [traces.write(f"{side}.1", side, rings) for side, rings in (("engine", [("job", 1, traces.engine(1000, 1, 0) + traces.engine(9000, 2, 8192))]),)]

    def said(self, *args, expected=(0,)):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertIn(main.main([str(a) for a in args]), expected, err.getvalue())
        return out.getvalue()

    def tried(self):
        """{command: [(arguments, a key that the object has)]}."""
        one, two, db = self.one, self.two, self.db
        replayed = {"fixed": replay.Outcome(1, 0, 0, 26000)}
        patch = mock.patch.object(replay, "replay", lambda counts, these, wakeup: [replayed.get(name, replay.Outcome(0, 0, 1, 0)) for name, _ in these])
        patch.start()
        self.addCleanup(patch.stop)
        return {"list": [((), "studies")], "doctor": [((), "checks")], "percentiles": [((one, "-o", self.dir / "p"), "arms")],
                "trace": [(self.trace, "stages"), ((*self.trace, "--timeline", 1), "timeline")], "report": [((one,), "arms")], "compare": [((one, two, "--out", self.dir / "c"), "arms")],
                "history": [(("add", db, one, two), "results"), (("show", db), "series"), (("export", db), "series")],
                "baseline": [(("add", "b", one), "baselines"), (("list",), "baselines"), (("list", "b"), "baselines"), (("remove", "b"), "baselines")],
                "advise": [((self.waited, "--wakeup", "5us"), "advice")], "export": [((one,), None)],
                "scale": [(("--driver", "210ns", "--device", "60ns", "--wakeup", "5us", "--queues", "1", "--iothreads", "1", "--host-cpus", "2"), "predicted")],
                "sweep": [((self.dir / "job.fio", "--set", "bs=4k", "--runtime", "0.5", "--vary", "poll-max-ns=0,16384", "--repeats", 1, "--warmup", 0, "--out", self.dir / "s"), "arms")]}

    def test_every_command(self):
        tried = self.tried()
        for name, parser in main.commands().parsers.items():
            has = any("--json" in action.option_strings for action in parser._actions)  # pylint: disable=protected-access
            self.assertEqual(has, name not in _NONE, name)
            self.assertEqual(name in tried, name not in _NONE | _AS_SWEEP | set(_ELSEWHERE), name)
        for name, calls in tried.items():
            for args, key in calls:
                with self.subTest(name, args=args):
                    text = self.said(name, *args, "--json", "-", expected=(0, 3) if name == "doctor" else (0,))
                    found = json.loads(text, parse_constant=self.fail)
                    if key:
                        self.assertIn(key, found)
                        self.assertTrue(found[key] or name == "baseline", key)
                    if "schema" in found:
                        self.assertEqual((found["schema"], found["version"]), (f"fio-dataplane {name}", 1))
                        self.assertLessEqual(set(found) - {"schema", "version"}, set(re.findall(r"`(\w+)`", self.documented(name))))

    def documented(self, command):
        line = next(line for line in (SRC / "docs/json.md").read_text().splitlines() if line.startswith(f"| `{command}` |"))
        return line.partition("|")[2]

    def test_those_tried_elsewhere_are(self):
        for command, test in _ELSEWHERE.items():
            self.assertIn('"--json"', (SRC / "tests/scripts" / test).read_text(), command)
            self.documented(command)

    def test_a_file_beside_what_is_printed(self):
        path = self.dir / "list.json"
        self.assertIn("poll-max-ns", self.said("list", "--json", path))
        self.assertTrue(json.loads(path.read_text())["studies"])
        self.said("list", "--json", self.dir / "no/such", expected=(2,))

    def test_damaged_is_no_json(self):
        broken = made_up.write(self.dir / "broken", made_up.arms({"poll": "off"}), lambda i: 20)
        (broken / "meta.json").write_text("{")
        self.assertEqual(self.said("percentiles", broken, "--json", "-", expected=(3,)), "")
        self.assertTrue(store.holds_result(broken))


if __name__ == "__main__":
    unittest.main()
