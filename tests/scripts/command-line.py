#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A mistake on the command line or in a study is one line that names it, exit status 2; 3 where this machine cannot measure."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import fakes
from dataplane_lib.cli import main
from dataplane_lib.model import targets

STUDY = """
job = "job.fio"
[variables]
bs = "4k"
[factors]
poll-max-ns = [0, 1]
"""


class CommandLine(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)
        self.job = str(self.dir / "job.fio")

    def said(self, *args):
        """(status, stdout, stderr) of the command, run in this process: a new one takes a second to load what it needs."""
        out, err = io.StringIO(), io.StringIO()
        with unittest.mock.patch.dict(os.environ, self.env), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main.main(list(args))
            except SystemExit as end:
                status = end.code or 0
        return status, out.getvalue(), err.getvalue()

    def refused(self, word, *args, status=2):
        found, _, err = self.said(*args)
        self.assertEqual(found, status, (args, err))
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertTrue(lines[0].startswith("dataplane"), lines[0])
        self.assertIn(word, lines[0])

    def test_options(self):
        vary = ("--vary", "poll-max-ns=0,1", "--set", "bs=4k")
        self.refused("nonsense", "nonsense")
        self.refused("study not found", "run", "nonsense")
        self.refused("--frob", "sweep", self.job, *vary, "--frob")
        self.refused("job file or study not found: ", "sweep", self.job + "x", *vary)
        self.refused("nothing to vary", "sweep", self.job, "--set", "bs=4k")
        self.refused("expected NAME=A,B,…", "sweep", self.job, "--vary", "poll-max-ns")
        self.refused("given twice", "sweep", self.job, "--vary", "poll-max-ns=1,1", "--set", "bs=4k")
        self.refused("${bs} has no value", "sweep", self.job, "--vary", "poll-max-ns=0,1")
        self.refused("is not used", "sweep", self.job, *vary, "--set", "other=1")
        self.refused("--runtime=soon", "sweep", self.job, *vary, "--runtime", "soon")
        self.refused("0.5 s or more", "sweep", self.job, *vary, "--runtime", "0.1")
        self.refused("repeats=0", "sweep", self.job, *vary, "--repeats", "0")
        self.refused("--repeats: 'many' is not a whole number", "sweep", self.job, *vary, "--repeats", "many")
        self.refused("--cpus", "sweep", self.job, *vary, "--cpus", "0,99999")
        self.refused("dataplane sets it itself", "sweep", self.job, *vary, "--vary", "socket=a,b")
        self.refused("primary=speed: unknown metric; accepted: iops,", "sweep", self.job, *vary, "--primary", "speed")
        self.refused("--file=big", "sweep", self.job, *vary, "--file", "big")
        self.refused("gives no file", "sweep", self.job, *vary, "--target", "--backend file:$file")
        self.refused("No closing quotation", "sweep", self.job, *vary, "--target", "--backend 'x")
        self.refused("is varied", "sweep", self.job, *vary, "--set", "poll-max-ns=1")
        self.refused("result not found: ", "report", str(self.dir))

    def test_mistyped(self):
        """What was probably meant is named: a command, an option, a metric, a study."""
        self.refused("unknown command swep; did you mean sweep?", "swep")
        self.refused("unknown option --pear; did you mean --pairs?", "ab", "--pear=x", self.job)
        self.refused("did you mean target_cpu?; accepted: iops,", "ab", self.job, "--a", "x=1", "--b", "x=2", "--primary", "target_cpus")
        self.refused("study not found: poll-max; did you mean poll-max-ns?", "run", "poll-max")
        status, _, err = self.said("sweep", self.job, "--vry", "a=1,2", "--frob", "--target=--poll")
        self.assertEqual((status, err.splitlines()),
                         (2, ["dataplane sweep: unknown option --vry; did you mean --vary?", "dataplane sweep: unknown option --frob"]))

    def test_all_faults_at_once(self):
        status, _, err = self.said("ab", self.job, "--a", "x=1", "--b", "x=2", "--pairs", "7", "--warmup=-1", "--budget", "soon")
        self.assertEqual(status, 2)
        lines = err.splitlines()
        self.assertEqual([line.partition(" (is")[0].partition("=")[0] for line in lines],
                         ["dataplane: --pairs must be an even number of 6 or more", "dataplane: --warmup must be 0 or more",
                          "dataplane: --budget needs --until-resolved or --precision", "dataplane: --budget"])

    def test_version_and_metrics(self):
        done = fakes.dataplane("--version", env=self.env)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^dataplane \S+.*, fio-0.0-fake\n$")
        for args in (["sweep", "--primary", "list"], ["ab", "--primary=list"]):
            status, out, err = self.said(*args)
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, r"(?m)^  lat_mean_us +lat mean, us$")
        status, _, err = self.said("sweep", self.job, "--primary")
        self.assertEqual(status, 2)
        self.assertIn("lat_mean_us", err)

    def test_what_nobody_knows(self):
        """A name that neither the job nor the target has is refused before there is a result."""
        words = "the job file job.fio has no ${frob}, and vhost-user-blk-target has no --frob"
        out = self.dir / "out"
        more = ("--set", "bs=4k", "--out", str(out))
        self.refused(words, "sweep", self.job, "--vary", "frob=0,1", *more)
        self.refused(words, "sweep", self.job, "--vary", "poll=off", "--baseline", "frob=1", *more)
        self.refused(words, "sweep", self.job, "--vary", "poll=off", "--target", "--frob 1", *more)
        self.refused(words, "ab", self.job, "--a", "frob=1", "--b", "frob=2", *more)
        self.assertFalse(out.exists())

    def test_job_for_study(self):
        self.refused("is a job file, not a study; use: dataplane sweep", "run", self.job)
        self.refused("job file not found", "run", "nope.fio")
        self.refused("job file or study not found: nope.fio; did you mean noop.fio?", "ab", "--a", "poll=off", "--b", "poll=busy", "nope.fio")

    def test_names(self):
        """What list shows does in the place of a path: a study lends its job, variables and target."""
        self.refused("example.fio is a job file, not a study", "run", "example.fio")
        self.refused("wait_mode} has no value", "sweep", "example.fio", "--vary", "poll=off,busy")
        self.refused("noop.fio: jobs do not run at the same time", "sweep", "noop.fio", "--vary", "poll=off,busy")
        self.refused("poll-max-ns: nothing to vary", "sweep", "poll-max-ns")
        self.refused("job file or study not found: nope; accepted: a path, or one of", "sweep", "nope", "--vary", "poll=off")
        self.refused("job file not found", "ab", "--a", "job=nope.fio", "--b", "job=example.fio", self.job)
        self.refused("result not found: nowhere (looked in ., ", "report", "nowhere")

    def test_program(self):
        """The target is the one that the job's engine talks to, and no other will do."""
        wanted = {"ioengine=external:${FIO_DATAPLANE}/engines/nbd.so\nuri=${uri}": targets.NBD, "ioengine=nbd\nuri=x": targets.NBD,
                  "uri=${uri}": targets.NBD, "socket=${socket}": targets.VHOST,
                  "ioengine=external:/x/vhost-user-blk.so\nsocket=${socket}": targets.VHOST,
                  "ioengine=external:/x/virtio-poll.so\nsocket=${socket}": targets.VHOST}
        job = self.dir / "job.fio"
        for text, program in wanted.items():
            job.write_text(f"[j]\n{text}\n")
            self.assertEqual(targets.for_job(job), program, text)
        vary = ("--vary", "poll=off,busy")
        self.refused("--program foo: no such target; accepted: vhost-user-blk-target, nbd-target", "sweep", self.job, *vary,
                     "--program", "foo")
        self.refused("--program foo: no such target", "ab", self.job, "--a", "poll=off", "--b", "poll=busy", "--program", "foo")
        self.refused("--program ublk-target: serves a block device, not a socket", "sweep", self.job, *vary, "--program", targets.UBLK)
        job.write_text("[j]\nioengine=nbd\nuri=${uri}\nlat_percentiles=1\n")
        self.refused("engine nbd speaks NBD, and vhost-user-blk-target serves vhost-user: use --program nbd-target",
                     "sweep", self.job, *vary, "--program", targets.VHOST)
        # There is no nbd-target among the made-up programs.
        self.refused("nbd-target is not built", "sweep", self.job, *vary, status=3)
        self.refused("nbd-target is not built", "ab", self.job, "--a", "poll=off", "--b", "poll=busy", status=3)

    def test_study_file(self):
        path = self.dir / "study.toml"
        for word, text in (("--short needs a [short] table", STUDY), ("frob: unknown", STUDY.replace("job =", "frob = 1\njob =")),
                           ("repeats=x", 'repeats = "x"\n' + STUDY), ("expected a list", STUDY.replace("[0, 1]", "0")),
                           ("job: missing", STUDY.replace('job = "job.fio"', "")),
                           ("primary=x", 'primary = "x"\n' + STUDY), ("study.toml", "job = [")):
            path.write_text(text)
            self.refused(word, "run", str(path), *(["--short"] if "short" in word else []))

    def test_job_that_cannot_be_compared(self):
        vary = ("--vary", "poll-max-ns=0,1", "--set", "bs=4k")
        (self.dir / "job.fio").write_text(fakes.JOB + "[k]\nstonewall\n")
        self.refused("stonewall", "sweep", self.job, *vary)
        (self.dir / "job.fio").write_text(fakes.JOB.replace("${socket}", "x") + "ioengine=null\n")
        self.refused("poll-max-ns changes nothing", "sweep", self.job, *vary)

    def test_size_and_file(self):
        self.refused("--size 1G is more than $file has, 67108864 bytes; use --file 1G", "sweep", self.job, "--vary", "poll-max-ns=0,1", "--set", "bs=4k",
                     "--file", "64m", "--target", "--backend file:$file --size 1G")

    def test_not_built(self):
        self.env["FIO_DATAPLANE"] = str(self.dir / "nowhere")
        self.refused("run make", "sweep", self.job, "--vary", "poll-max-ns=0,1", "--set", "bs=4k", status=3)

    def test_help_and_list(self):
        status, alone, err = self.said()
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(alone, self.said("--help")[1])
        self.assertEqual([line for line in alone.splitlines() if len(line) > 80], [])
        for name in main.commands().parsers:
            status, out, err = self.said(name, "--help")
            self.assertEqual((status, err), (0, ""), name)
            self.assertIn(f"usage: dataplane {name}", out)
            self.assertIn(f"  {name} ", alone)
        done = fakes.dataplane("list")
        self.assertEqual(done.returncode, 0)
        line = next(text for text in done.stdout.splitlines() if text.startswith("poll-max-ns "))
        self.assertEqual(line.count("poll-max-ns"), 1, line)
        self.assertRegex(done.stdout, r"(?m)^example\.fio .* a job file, for fio, sweep and ab$")
        self.assertRegex(done.stdout, r"(?m)^noop\.fio .* a job file, for fio by itself$")
        self.assertRegex(line, r"^poll-max-ns +\d+m\d\ds +\d+(m\d\d)?s  how long")

    def test_help_has_defaults(self):
        """Every option that takes a value says what it is without it."""
        for name, parser in main.commands().parsers.items():
            for action in parser._actions:                      # pylint: disable=protected-access
                if action.option_strings and action.nargs != 0:
                    self.assertRegex(action.help or "", r"\(default: |\(required\)", f"{name} {action.option_strings}")
                self.assertTrue(action.help, f"{name} {action.dest}")

    def test_env(self):
        """What env prints is a shell command that exports the directory."""
        place = self.dir / "with space"
        done = fakes.dataplane("env", env={**os.environ, "FIO_DATAPLANE": str(place)})
        self.assertIn(f"FIO_DATAPLANE is {place.resolve()} already, and stays so; unset it", done.stderr)
        own = {k: v for k, v in os.environ.items() if k != "FIO_DATAPLANE"}
        for environment in (own, {**own, "FIO_DATAPLANE": str(fakes.ROOT / "build")}):
            self.assertEqual(fakes.dataplane("env", env=environment).stderr, "")
        text = done.stdout
        shown = subprocess.run(["sh", "-c", text + '\nprintf %s "$FIO_DATAPLANE"'], capture_output=True,
                               text=True, check=True, env={})
        self.assertEqual(shown.stdout, str(place.resolve()))


if __name__ == "__main__":
    unittest.main()
