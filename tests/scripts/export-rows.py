#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane export gives every run as a row, the same as CSV and as JSON."""

import csv
import io
import json
import tempfile
import unittest
from pathlib import Path

import fakes


class Export(unittest.TestCase):
    def test_rows(self):
        with tempfile.TemporaryDirectory() as tmp:
            env, out = fakes.install(tmp), Path(tmp) / "out"
            done = fakes.dataplane("sweep", f"{tmp}/job.fio", "--vary", "poll-max-ns=0,16384", "--set", "bs=4k",
                                   "--runtime", "0.5", "--repeats", "2", "--warmup", "1", "--out", str(out), env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = fakes.dataplane("export", str(out), env=env)
            rows = list(csv.DictReader(io.StringIO(done.stdout)))
            self.assertEqual(sorted((r["factor_poll-max-ns"], r["repeat"], float(r["iops"]), r["baseline"]) for r in rows),
                             [("0", "1", 25000, "True"), ("0", "2", 25000, "True"), ("16384", "1", 50000, "False"), ("16384", "2", 50000, "False")])
            self.assertEqual([r["run"] for r in rows], sorted(r["run"] for r in rows))
            file = Path(tmp) / "rows.json"
            done = fakes.dataplane("export", str(out), "--json", "--out", str(file), env=env)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            found = json.loads(file.read_text())
            self.assertEqual(list(found[0]), list(rows[0]))
            self.assertEqual([str(r["iops"]) for r in found], [r["iops"] for r in rows])
            for word, args in (("--out", ("--out", f"{tmp}/no/such")), ("not allowed with", ("--csv", "--json"))):
                done = fakes.dataplane("export", str(out), *args, env=env)
                self.assertEqual(done.returncode, 2)
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
