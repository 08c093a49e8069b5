#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The report page from odd results: figures that are missing, cells that are sorted, words that are long."""

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
import made_up
from dataplane_lib import units
from dataplane_lib.read import store
from dataplane_lib.report import page_table, picture, plot, terminal, write
from dataplane_lib.report.table import Table
from dataplane_lib.errors import Refused


def report(place):
    """(what report printed, the page)."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        write.report(place, terminal.View(verbose=True))
    return said.getvalue(), (place / "report.html").read_text()


class Cells(unittest.TestCase):
    def test_sorted_by_what_they_mean(self):
        self.assertEqual([units.leading(t) for t in ("12", "16us", "-3.1%", "+2.0 % [+1, +3] p=0.01", "40+12", "(99)", "20.6 µs", "~1.2 ms", "42 %", "-", "off", "4k-seq")],
                         [12, 16000, -3.1, 2, 52, 99, 20600, 1200000, 42, None, None, None])
        for less, more in (("999", "1.00k"), ("9.8k!", "10.2k"), ("999k", "1.00M"), ("6.5k to 8.3k", "7.0k to 7.1k"), ("900 ns", "1.2 µs")):
            self.assertLess(units.leading(less), units.leading(more))

    def test_columns_of_words_stand_left(self):
        laid = page_table.laid(Table(["x", "y", "z"], [["off", "a", "1"], ["1", "b", "-"], ["2", "c", "baseline"]]))
        self.assertEqual([(head.text, head.kinds) for head in laid.head], [("x", ""), ("y", ' class="word"'), ("z", "")])

    def test_html(self):
        """What a factor is called is text, in every part of the page."""
        with tempfile.TemporaryDirectory() as tmp:
            made_up.write(Path(tmp) / "r", made_up.arms({"<b>": "<i>1"}, {"<b>": "<i>2"}), lambda i: 50, title="<u>")
            page = report(Path(tmp) / "r")[1]
        self.assertIn("&lt;b&gt;", page)
        for tag in ("<b>", "<i>", "<u>"):
            self.assertNotIn(tag, page)


class Pages(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.place = Path(tmp.name) / "result"

    def test_primary_metric_missing(self):
        """The runs of an arm whose CPU could not be sampled have no figure for what decides."""
        for which, primary in enumerate(("target_cpu", "target_us_per_io")):
            for lacking in ("1", "4"):
                place = self.place / f"{which}{lacking}"
                made_up.write(place, made_up.arms(*({"x": x} for x in ("1", "2", "4"))), lambda i: 50, cpu=lambda i: 20 + i, primary=primary)
                for path in (place / "raw").glob(f"*-x-{lacking}-*/cpu.json"):
                    path.write_text("[]")
                said, page = report(place)
                self.assertIn("could not be sampled", said)
                self.assertIn("<svg", page)
                self.assertNotIn("nan", re.sub(r"<script>.*", "", page, flags=re.S).lower())

    def test_values_are_not_formulas(self):
        """matplotlib would take what stands between two $ for one, and refuse this one."""
        made_up.write(self.place, made_up.arms({"x": "$\\foo{$"}, {"x": "a_b $"}), lambda i: 50)
        self.assertIn("$\\foo{$", report(self.place)[1])

    def test_percentile_of_few_ios_ends(self):
        made_up.write(self.place, made_up.arms({"x": "1"}), lambda i: 50, runs=1, ios=500)
        page = report(self.place)[1]
        titles = re.findall(r"x=1\np([0-9.]+): ", page)
        self.assertEqual(sorted(set(titles)), ["50", "90"])

    def test_refused_page_replaces_the_good_one(self):
        made_up.write(self.place, made_up.arms({"x": "1"}), lambda i: 50)
        self.assertIn("Baseline x=1", report(self.place)[1])
        (self.place / store.FILE).unlink()
        path = next((self.place / "raw").glob("*/run.json"))
        path.write_text(json.dumps({**json.loads(path.read_text()), "status": "failed", "reason": "fio: <no room>"}))
        with self.assertRaisesRegex(Refused, "no room"):
            write.report(self.place)
        page = (self.place / "report.html").read_text()
        self.assertIn("Not a result", page)
        self.assertIn("fio: &lt;no room&gt;", page)
        self.assertNotIn("Baseline", page)
        self.assertIn("/fio.json", page)

    def test_command_and_files(self):
        made_up.write(self.place, made_up.arms({"x": "1"}, {"x": "2"}), lambda i: 50)
        page = report(self.place)[1]
        self.assertIn("<pre>dataplane sweep job.fio --vary …</pre>", page)
        for file in ("job.fio", "runs.jsonl.xz", "result.csv", "result.json", "raw/000-x-1-1/fio.json"):
            self.assertIn(f'href="{file}"', page)

    def test_pictures_have_ids_of_their_own(self):
        made_up.write(self.place, made_up.arms({"x": "1"}, {"x": "2"}), lambda i: 50)
        found = re.findall(r'\bid="([^"]+)"', report(self.place)[1])
        self.assertEqual(len(found), len(set(found)))


class Changes(unittest.TestCase):
    """The picture of changes and their intervals."""

    def drawn(self, *changes):
        lines = [{"metric": "iops", "kind": "ratio", "estimate": e, "low": low, "high": high, "a": 1.0, "b": 1.0, "word": "~", "text": ""} for low, e, high in changes]
        result = {"verdict": {"lines": lines}}
        return plot.drawn(picture.pyplot(), "", plot._verdicts, result, "verdict").svg

    def test_a_huge_interval_is_clipped_with_its_number(self):
        found = self.drawn((-2, 3, 8), (-20, 100, 1389))
        self.assertRegex(found, r"[+]1389 %")
        # The small one is still seen: the axis ends at four times.
        self.assertIn("+300", found)
        self.assertNotIn("+400", found)

    def test_no_empty_half(self):
        first, last = plot._edges([("", {"low": 3, "estimate": 12, "high": 22})])
        self.assertLess(-first, last / 5)
        self.assertEqual(plot._percents(first, last), [0, 5, 10, 15, 20])


class Names(unittest.TestCase):
    def test_the_ends_of_long_names_stay(self):
        self.assertEqual(picture.shortened("short", 10), "short")
        found = picture.shortened("a" * 40 + "-1", 20)
        self.assertEqual(len(found), 20)
        self.assertTrue(found.endswith("-1") and "…" in found)


if __name__ == "__main__":
    unittest.main()
