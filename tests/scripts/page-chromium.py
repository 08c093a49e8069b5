#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 240
"""Report pages in a real browser: nothing in the console, nothing wider than a phone, tables that sort, points that tell.

Screenshots of all are left in BUILD/artefacts.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote

import chromium
import fakes
import made_up
from dataplane_lib.read import store
from dataplane_lib.report import write
from dataplane_lib.errors import Refused

ARTEFACTS = Path(os.environ.get("B", fakes.ROOT / "build")).resolve() / "artefacts"
LONG = "a-program-with-a-very-long-name-that-lies-in-a-directory-of-somebody's-own/with/slashes/&/<all>"
# Of what JavaScript sees, the smallest text in pictures that are shown, in pixels of the screen.
SMALLEST = """Math.min(...[...document.querySelectorAll('svg')].filter(s => s.clientWidth).flatMap(s =>
[...s.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize) * s.clientWidth / s.viewBox.baseVal.width)))"""


def made(place):
    """{name: page} of results of all kinds."""
    out = {}
    arms = made_up.arms(*({"server": f"{LONG}-{i}", "mode": m} for i in range(16) for m in ("shared", "private")))
    made_up.write(place / "one", made_up.arms({"x": "1"}), lambda i: 50, runs=1, ios=500, jobs=2)
    made_up.write(place / "many", arms, lambda i: 50 + i, runs=2, cpu=lambda i: 20 + i, ios=4000, logs="hist")
    made_up.write(place / "along", made_up.arms(*({"engine": e, "bs": b} for e in "pqrstuvwx" for b in ("4k", "16k", "64k"))),
                  lambda i: 20 + i, runs=2, cpu=lambda i: 20 + i)
    pair = made_up.write(place / "ab", made_up.arms({"arm": "A"}, {"arm": "B"}), lambda i: 50 + 5 * i, runs=6, cpu=lambda i: 40)
    meta = json.loads((pair / "meta.json").read_text())
    meta["ab"] = {"primary": "iops", "level": 0.95, "stopped": "", "notes": [], "set": [None, "echo <b>"], "restore": None}
    (pair / "meta.json").write_text(json.dumps(meta))
    made_up.write(place / "failed", made_up.arms({"x": "1"}, {"x": "2"}), lambda i: 50)
    meta = json.loads((place / "failed" / "meta.json").read_text())
    meta |= {"status": "failed", "reason": "x=2, run 9: fio: killed by signal 9 <script>alert(1)</script>"}
    (place / "failed" / "meta.json").write_text(json.dumps(meta))
    for name in ("one", "many", "along", "ab", "failed"):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Refused):
            write.report(place / name)
        out[name] = place / name / "report.html"
    return out


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(tmp.cleanup)
        cls.pages = made(Path(tmp.name))
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        cls.browser = cls.enterClassContext(chromium.Chromium())

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def seen(self, name, width, scheme="light", media=""):
        self.browser.look(width, 844 if width < 500 else 900, scheme, media)
        self.browser.open(self.pages[name])

    def test_no_wider_than_the_window(self):
        for name in self.pages:
            for width in (1280, 390):
                with self.subTest(f"{name} {width}"):
                    self.seen(name, width)
                    # A picture takes a second: the dark ones of two pages do.
                    for scheme in ("light", "dark") if name in ("many", "ab") else ("light",):
                        self.browser.look(width, 900, scheme)
                        self.browser.screenshot(ARTEFACTS / f"report-{name}-{width}-{scheme}.png")
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    self.browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)

    def test_text_of_pictures_can_be_read(self):
        for width in (1280, 390):
            for name in ("one", "many", "along", "ab"):
                self.seen(name, width)
                self.assertGreater(self.browser.evaluate(SMALLEST), 8.5, f"{name} {width}")

    def test_dark_is_dark_and_paper_is_not(self):
        light = "(s => s.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 765)"
        ground, ink = (f"{light}(getComputedStyle(document.querySelector('{what}')).{key})"
                       for what, key in (("body", "backgroundColor"), ("svg text", "fill")))
        for scheme, media, dark in (("light", "", False), ("dark", "", True), ("dark", "print", False)):
            self.seen("many", 1280, scheme, media)
            low, high = (ground, ink) if dark else (ink, ground)
            self.assertLess(self.browser.evaluate(low), 0.3, (scheme, media))
            self.assertGreater(self.browser.evaluate(high), 0.7, (scheme, media))

    def column(self, table, number):
        return self.browser.evaluate(f"[...document.querySelectorAll('table.sort')[{table}].tBodies[0].rows]"
                                     f".map(r => r.cells[{number}].textContent)")

    def test_tables_sort(self):
        self.seen("along", 1280)
        heads = self.browser.evaluate("[...document.querySelectorAll('table.sort')].map(t => "
                                      "[...[...t.tHead.rows].at(-1).cells].map(c => c.textContent))")
        table = next(i for i, h in enumerate(heads) if "lowest to highest" in h)
        before = self.column(table, 2)
        for ascending in (True, False):
            self.browser.evaluate(f"document.querySelectorAll('table.sort')[{table}].querySelectorAll('th button')[2].click()")
            # 9.8k < 10.2k: as figures, not as words.
            self.assertEqual([float(t.strip("k!")) for t in self.column(table, 2)],
                             sorted((float(t.strip("k!")) for t in before), reverse=not ascending))
        self.assertEqual(self.browser.evaluate(f"document.querySelectorAll('table.sort')[{table}].querySelectorAll('th[aria-sort]').length"), 1)

    def test_points_tell(self):
        self.seen("along", 1280)
        self.browser.evaluate("document.querySelector('figure svg').scrollIntoView()")
        x, y = self.browser.evaluate("(b => [b.x + b.width / 2, b.y + b.height / 2])"
                                     "(document.querySelector('figure svg .tip').getBoundingClientRect())")
        self.browser.move(x, y)
        self.assertIn("engine=p bs=4k", self.browser.evaluate("document.querySelector('#tip').textContent"))
        self.browser.move(2, 2)
        self.assertTrue(self.browser.evaluate("document.querySelector('#tip').hidden"))
        self.browser.evaluate("document.querySelector('figure svg').focus()")
        for key, word in (("ArrowRight", "bs=4k"), ("ArrowRight", "bs=16k"), ("ArrowLeft", "bs=4k")):
            self.browser.key(key)
            self.assertIn(word, self.browser.evaluate("document.querySelector('#tip').textContent"))

    def test_links_lead_somewhere(self):
        for name, page in self.pages.items():
            self.seen(name, 1280)
            links = self.browser.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
            for link in links:
                self.assertTrue((page.parent / unquote(link)).exists(), link)
            raw = sum(1 for path in (page.parent / "raw").rglob("*") if path.is_file())
            self.assertGreaterEqual(len(links), raw, name)

    def test_words_are_no_markup(self):
        self.seen("failed", 1280)
        self.assertIn("<script>alert(1)</script>", self.browser.evaluate("document.querySelector('ul.warnings').textContent"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('svg, td.group').length"), 0)
        with self.assertRaises(Refused):
            store.load(self.pages["failed"].parent)


if __name__ == "__main__":
    if not chromium.program():
        print("SKIP: no chromium")
        sys.exit(77)
    unittest.main()
