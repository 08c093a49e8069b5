#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Job files mean what they mean to fio, which is asked: sections, [global], comments, includes, ${variables}, times."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401 (puts scripts/ on the path)
from dataplane_lib.errors import Refused
from dataplane_lib.model import jobfile

# A job that does nothing, and so ends at once.
GLOBAL = "[global]\nioengine=null\nsize=1m\n"
# Name of what is tried, the job file; variables are A=128k and B=2.
ACCEPTED = {
    "blanks": GLOBAL + " \t bs = 8k \t\n\n[a]\n  rw=randread  \n\t[b]\niodepth  =  2\n",
    "comments": "; one\n# two\n" + GLOBAL + "bs=8k ; rest\niodepth=4 # rest\n[a] ; rest\n   ; three\nrw=randread;x\n",
    "global again": GLOBAL + "bs=8k\n[a]\n[global]\niodepth=2\n[b]\nbs=16k\n",
    "a name that begins with global": GLOBAL + "[globalish]\nbs=8k\n[a]\n",
    "odd names": GLOBAL + "[a b]\nbs=8k\n[c[1]]\n[d]x\n[e;f]\n[caf\udce9]\n[\u00e9t\u00e9]\n",
    "variables": GLOBAL + "bs=${A}\n[a]\niodepth=${B}${B}\n[b]\ndescription=x${}y$B$$z${NONE\n",
    "twice": GLOBAL + "bs=8k\nbs=16k\n[a]\nbs=32k\nbs=64k\n[b]\n",
    "no end of line": GLOBAL + "[a]\nbs=8k",
    "no line goes on": GLOBAL + "[a]\ndescription=x\\\nbs=8k\n",
    "carriage returns": (GLOBAL + "[a]\nbs=8k\n").replace("\n", "\r\n"),
    "not UTF-8": GLOBAL + "; caf\udce9\n[a]\ndescription=caf\udce9 \u00a0\n",
    "include": GLOBAL + "include sub/one.inc\n[a]\ninclude sub/one.inc\nbs=64k\n[b]\nbs=32k\ninclude=sub/one.inc\n",
}
INCLUDED = {"sub/one.inc": "; in it\nbs=16k # x\ninclude two.inc\n", "sub/two.inc": "\n\tiodepth=8\n"}
# What is tried, the job file, what is said of it.
REFUSED = {
    "before": ("bs=4k\n" + GLOBAL + "[a]\n", r"job\.fio:1: bs=4k: stands before the first section"),
    "include before": ("include sub/two.inc\n" + GLOBAL + "[a]\n", r"job\.fio:1: include sub/two\.inc: stands before the first section"),
    "no file": (GLOBAL + "include gone.inc\n[a]\n", r"job\.fio:4: include gone\.inc: no such file"),
    "section": (GLOBAL + "include section.inc\n[a]\n", r"section\.inc:2: \[x\]: fio takes no section in an included file: move it to job\.fio"),
    "no section": (GLOBAL, r"job\.fio: no job section: add a line such as \[job\]"),
    "nothing": ("; nothing\n", r"job\.fio: no job section"),
}


class JobFile(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        (self.dir / "sub").mkdir()
        for name, text in {**INCLUDED, "section.inc": "bs=4k\n[x]\n"}.items():
            (self.dir / name).write_text(text)

    def write(self, text, name="job.fio"):
        path = self.dir / name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    def fio(self, *args, text=None):
        """(exit status, [(job, its options)]) that fio finds."""
        done = subprocess.run(["fio", *map(str, args), "--output-format=json"], input=text and text.encode("utf-8", "surrogateescape"),
                              capture_output=True, env={**os.environ, "A": "128k", "B": "2"}, cwd="/", check=False)
        said = done.stdout.decode("utf-8", "surrogateescape")
        if done.returncode or "{" not in said:
            return done.returncode or 1, []
        # fio escapes no control character.
        doc = json.loads(said[said.index("{"):], strict=False)
        return 0, [(job.get("jobname", ""), {k: v.strip(" \t") for k, v in {**doc.get("global options", {}), **job.get("job options", {})}.items()})
                   for job in doc["jobs"]]

    def test_as_fio_reads_it(self):
        for what, text in ACCEPTED.items():
            with self.subTest(what):
                path = self.write(text)
                status, theirs = self.fio(path)
                self.assertEqual(status, 0)
                read = jobfile.load(path)
                filled = read.filled({"A": "128k", "B": "2", "": "", "NONE": ""})
                self.assertEqual([s.name for s in filled.sections], [name for name, _ in theirs])
                for section, (_, options) in zip(filled.sections, theirs):
                    for name in ("bs", "iodepth", "rw", "ioengine", "size", "description"):
                        # What fio lists as global is of all [global] together, those after the job too.
                        if section.get(name) is not None or "again" not in what:
                            self.assertEqual(section.get(name), options.get(name), f"[{section.name}] {name}")
                # One file of it is the same to fio.
                self.assertEqual(self.fio("-", text=read.text), (0, theirs))

    def test_refused(self):
        for what, (text, told) in REFUSED.items():
            with self.subTest(what):
                path = self.write(text)
                done = subprocess.run(["fio", str(path)], capture_output=True, check=False, cwd="/")
                # It goes on after a section in an included file, but without what was to come after that.
                self.assertTrue(done.returncode or b"No new sections in included files" in done.stderr, done.stderr)
                with self.assertRaisesRegex(Refused, told):
                    jobfile.load(path).require_jobs()

    def test_no_file(self):
        with self.assertRaisesRegex(Refused, "gone.fio: No such file"):
            jobfile.load(self.dir / "gone.fio")
        os.mkfifo(self.dir / "fifo")
        with self.assertRaisesRegex(Refused, "fifo: not a regular file"):
            jobfile.load(self.dir / "fifo")

    def test_include_of_itself(self):
        (self.dir / "loop.inc").write_text("include loop.inc\n")
        with self.assertRaisesRegex(Refused, "loop.inc: includes itself"):
            jobfile.load(self.write(GLOBAL + "[a]\ninclude loop.inc\n"))

    def test_names(self):
        (self.dir / "sub/two.inc").write_text("iodepth=${depth}\n")
        read = jobfile.load(self.write("; ${no}\n[global]\ninclude sub/one.inc\n[a]\nbs=${bs} ; ${no}\n${more}\n"))
        self.assertEqual(read.names, {"depth", "bs", "more"})

    def test_kept(self):
        """The copy beside a result is to fio what the original was, wherever its includes were, and the original may go."""
        home = self.dir / "home"
        home.mkdir()
        job = self.write(GLOBAL + "include ../sub/one.inc\n[a]\ninclude job.inc\ninclude job.fio\n", "home/mine.fio")
        (home / "job.inc").write_text("rw=randread\n")
        (home / "job.fio").write_text("description=x\n")
        theirs = self.fio(job)
        self.assertEqual(theirs[0], 0)
        out = self.dir / "out"
        out.mkdir()
        jobfile.load(job).keep(out, "job.fio")
        shutil.rmtree(home)
        shutil.rmtree(self.dir / "sub")
        self.assertEqual(self.fio(out / "job.fio"), theirs)
        self.assertEqual(jobfile.kept(out / "job.fio").sections[0].get("iodepth"), "8")
        self.assertEqual((out / "job.inc").read_text(), "rw=randread\n")

    def test_times_and_turns(self):
        def turns(text, usual=None):
            read = jobfile.load(self.write(GLOBAL + text))
            return [(s.name, start, end) for s, start, end in read.turns(usual)], read.in_turn()
        self.assertEqual(turns("runtime=10\nramp_time=500ms\n[a]\n[b]\ntimeout=1m\n"), ([("a", 0, 10.5), ("b", 0, 60.5)], ""))
        self.assertEqual(turns("[a]\n[b]\nruntime=2\n", 3), ([("a", 0, 3), ("b", 0, 2)], ""))
        self.assertEqual(turns("[a]\n"), ([("a", 0, None)], ""))
        found, why = turns("stonewall\nruntime=2\n[a]\n[b]\n[c]\nstonewall=0\n")
        self.assertEqual(found, [("a", 0, 2), ("b", 2, 4), ("c", 0, 2)])
        self.assertEqual(why, "[b] waits for those before it (stonewall)")
        self.assertEqual(turns("runtime=2\n[a]\n[b]\nwait_for=a\n[c]\nwait_for_previous\n[d]\nstartdelay=1-5\n"),
                         ([("a", 0, 2), ("b", 2, 4), ("c", 4, 6), ("d", 5, 7)],
                          "[b] waits for [a] (wait_for); [c] waits for those before it (stonewall); [d] starts 5 s after the others (startdelay)"))
        self.assertEqual(turns("startdelay=1\nruntime=1\n[a]\n[b]\n")[1], "")

    def test_jobs(self):
        read = jobfile.load(self.write(GLOBAL + "numjobs=2\n[a]\n[b]\nnumjobs=0x3\n[c]\nnumjobs=${n}\n"))
        self.assertEqual((read.jobs, read.filled({"n": "5"}).jobs), (6, 10))


if __name__ == "__main__":
    if not shutil.which("fio"):
        print("SKIP: needs fio")
        sys.exit(77)
    unittest.main()
