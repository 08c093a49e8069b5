#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What programs get of a result: --json, --summary markdown, --junit, rows with where they are from, and a tree for fio-plot."""

import contextlib
import csv
import io
import json
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import fakes  # noqa: F401
import made_up
from dataplane_lib.cli import main
from dataplane_lib.read import fiojson
from dataplane_lib.report import fioplot, machine

_JOB = "[global]\nioengine=null\nbs=8k\nrw=randread\nlat_percentiles=1\n[j]\niodepth=${depth}\n"


class Machines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        cls.dir = Path(cls.tmp.name)
        cls.place = made_up.write(cls.dir / "r", made_up.arms({"poll": "off", "depth": "1"}, {"poll": "busy", "depth": "1"}, {"poll": "off", "depth": "4"}), lambda i: (20, 30, 25)[i], runs=4,
                                  ios=1000, fail_if=["iops < -10%", "lat_p99_us > 1s", "qemu_cpu > 5%"], title="a|b <c>")
        (cls.place / "job.fio").write_text(_JOB)
        for run in (cls.place / "raw").iterdir():
            record = json.loads((run / "run.json").read_text())
            (run / "run.json").write_text(json.dumps({**record, "environment": {"depth": record["values"]["depth"]}}))

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def said(self, *args, expected=0):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(main.main([str(a) for a in args]), expected, err.getvalue())
        self.err = err.getvalue()
        return out.getvalue()

    def test_report_in_every_form(self):
        junit = self.dir / "junit.xml"
        found = json.loads(self.said("report", self.place, "--json", "-", "--junit", junit), parse_constant=self.fail)
        self.assertEqual(found["gate"]["status"], 1)
        self.assertEqual(found["directory"], str(self.place))
        self.assertEqual([c["verdict"] for c in found["gate"]["conditions"]], ["passed", "kept", "inconclusive"])
        suite = ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual({k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}, {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"})
        cases = suite.findall("testcase")
        self.assertIn("iops < -10 %: regression", cases[0].find("failure").get("message"))
        self.assertEqual(len(cases[1]), 0)

    def test_markdown(self):
        lines = self.said("report", self.place, "--summary", "markdown").splitlines()
        self.assertEqual(lines[0], "## a\\|b \\<c\\>")
        self.assertTrue(any(line.startswith("- **--fail-if iops \\< -10 %: regression") for line in lines), lines)
        tables = [line for line in lines if line.startswith("| ")]
        self.assertIn("| ---", tables[1])
        self.assertEqual(len({line.replace("\\|", "").count("|") for line in tables}), 1, tables)

    def test_a_study_that_failed_is_an_error(self):
        root = ElementTree.fromstring(machine.junit_error("s", "2026-01-02 03:04:05", "fio: exit status 1").encode())
        self.assertEqual(root.find("testsuite").get("errors"), "1")
        self.assertEqual(root.find(".//error").get("message"), "fio: exit status 1")

    def test_two_things_on_stdout_are_refused(self):
        self.said("report", self.place, "--json", "-", "--summary", "markdown", expected=2)
        self.assertIn("exclude each other", self.err)

    def test_rows_say_where_they_are_from_and_how_sure_the_change_is(self):
        rows = list(csv.DictReader(io.StringIO(self.said("export", self.place))))
        self.assertEqual({(r["date"], r["commit"], r["fio"], r["study"]) for r in rows}, {("2026-01-02 03:04:05", "0000000", "fio-0.0", "made-up")})
        self.assertEqual({len(r["host"]) for r in rows}, {12})
        slow = next(r for r in rows if r["factor_poll"] == "busy")
        self.assertLess(float(slow["change_low"]), float(slow["change"]))
        self.assertLess(float(slow["change"]), float(slow["change_high"]))
        self.assertLess(float(slow["change_high"]), 0)
        self.assertEqual(next(r for r in rows if r["baseline"] == "True")["change"], "")

    def test_a_tree_for_fio_plot(self):
        paths = [Path(p) for p in self.said("export", self.place, "--fio-plot", self.dir / "plot").split()]
        self.assertEqual(sorted(str(p.relative_to(self.dir / "plot")) for p in paths),
                         ["poll-busy/randread-8k-1-1.json", "poll-off/randread-8k-1-1.json", "poll-off/randread-8k-4-1.json"])
        for path in paths:
            doc = json.loads(path.read_text(), parse_constant=self.fail)
            # What fio-plot's importer and its mapping read.
            self.assertLessEqual({"fio version", "global options", "jobs"}, set(doc))
            job = doc["jobs"][0]
            self.assertLessEqual({"rw", "bs", "iodepth", "numjobs"}, set(job["job options"]))
            self.assertLessEqual({"usr_cpu", "sys_cpu", "latency_ns", "latency_us", "latency_ms"}, set(job))
            self.assertLessEqual({"bw", "iops", "iops_stddev", "lat_ns"}, set(job["read"]))
            self.assertLessEqual({"mean", "stddev"}, set(job["write"]["lat_ns"]))
            self.assertAlmostEqual(sum(v for kind in ("latency_ns", "latency_us", "latency_ms") for v in job[kind].values()), 100, places=2)
        self.said("export", self.place, "--fio-plot", self.dir / "plot", expected=2)

    def test_classes_of_latency(self):
        found = fioplot._classes(fiojson.bins({"jobs": []}) | {1: 1, 999: 1, 1500: 1, 3_000_000_000: 1})
        self.assertEqual((found["latency_ns"]["2"], found["latency_ns"]["1000"], found["latency_us"]["2"], found["latency_ms"][">=2000"]), (25, 25, 25, 25))


if __name__ == "__main__":
    unittest.main()
