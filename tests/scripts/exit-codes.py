#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every exit status of dataplane, provoked: 1 is a measured regression and nothing else, and git bisect run never blames a commit for a mistake."""

import contextlib
import io
import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import fakes
import made_up
from dataplane_lib.cli import main, status

SRC = Path(__file__).resolve().parents[2]
# tree= is tried in ab-tree.py, a limit of ab in ab-runs.py.
COMMANDS = tuple(main.commands().parsers)


class Base(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.env = fakes.install(self.dir)

    def status(self, *args, env=None, **words):
        done = subprocess.run([str(SRC / "scripts/dataplane"), *map(str, args)], capture_output=True, text=True, check=False, cwd=self.dir,
                              env={**self.env, **(env or {})}, **words)
        self.said = done.stdout + done.stderr
        return done.returncode

    def sweep(self, *more, mode="", vary="poll-max-ns=0,4096", repeats=3):
        return ("sweep", self.dir / "job.fio", "--set", "bs=4k", "--runtime", "0.5", "--vary", vary, "--repeats", repeats, "--warmup", 0,
                "--out", self.dir / f"out{len(list(self.dir.iterdir()))}", *more)


class Statuses(Base):
    def here(self, *args):
        """The status of main(ARGS), in this process."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = main.main([str(a) for a in args])
        self.said = said.getvalue()
        return code

    def test_success(self):
        self.assertEqual(self.status("help", "exit-codes"), 0, self.said)

    def test_a_regression(self):
        self.assertEqual(self.status(*self.sweep("--fail-if", "iops > 2%", vary="poll-max-ns=0,16384")), 1, self.said)
        self.assertIn("regression: poll-max-ns=16384", " ".join(self.said.split()))

    def test_none_and_inconclusive(self):
        results = [made_up.write(self.dir / f"r{n}", made_up.arms({"poll": "off"}), lambda _, n=n: 20 + n / 100, runs=2, ios=500) for n in range(6)]
        limit = ("--fail-if", "iops < -2%")
        self.assertEqual(self.status("compare", "--before", *results[:3], "--after", *results[3:], *limit, "--out", self.dir / "o1"), 0, self.said)
        self.assertEqual(self.status("compare", *results[:2], *limit, "--out", self.dir / "o2"), 4, self.said)
        self.assertEqual(self.status("compare", *results[:2], *limit, "--out", self.dir / "o3", "--bisect"), 125, self.said)

    def test_usage_of_every_command(self):
        for command in COMMANDS:
            for args in ((command, "--no-such"), (command, "a", "b", "c", "d", "--no-such")):
                self.assertEqual(self.here(*args), 2, (args, self.said))
                if command in ("run", "sweep", "ab", "compare"):
                    self.assertEqual(self.here(*args, "--bisect"), 129, (args, self.said))
        for args in (("nothing",), ("help", "nothing"), ("run",), ("report", "nothing"), ("export", "nothing"), ("trace", "nothing"), ("compare", "a", "b"),
                     ("run", "nothing"), self.sweep("--fail-if", "speed < 2%"), self.sweep("--dead-band", "x"), self.sweep("--seed", "-1")):
            self.assertEqual(self.here(*args), 2, (args, self.said))

    def test_what_cannot_be_measured(self):
        for more, code in (((), 3), (("--bisect",), 125)):
            self.assertEqual(self.status(*self.sweep(*more), env={"FAKE_FIO": "exit"}), code, self.said)
        broken = made_up.write(self.dir / "broken", made_up.arms({"poll": "off"}), lambda i: 20)
        (broken / "meta.json").write_text("{")
        self.assertEqual(self.here("report", broken), 3, self.said)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([str(SRC / "scripts/dataplane"), *map(str, self.sweep("--bisect", repeats=50))], cwd=self.dir, text=True, env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            # Until it measures.
            for line in process.stderr:
                if line.startswith("["):
                    break
            process.send_signal(number)
            process.communicate()
            self.assertEqual(process.returncode, 130, number)

    def test_a_full_disk_is_no_regression(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([str(SRC / "scripts/dataplane"), "list"], stdout=full, stderr=subprocess.PIPE, check=False, env=self.env)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_a_reader_that_goes_away_is_no_regression(self):
        process = subprocess.Popen([str(SRC / "scripts/dataplane"), "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env)
        process.stdout.close()
        process.communicate() if process.stdout is None else process.wait()
        process.stderr.close()
        self.assertEqual(process.returncode, 141)


class Exceptions(unittest.TestCase):
    def raised(self, error, *argv):
        def run(_argv):
            raise error
        stderr = os.dup(2)
        with open(os.devnull, "w", encoding="utf-8") as null:
            os.dup2(null.fileno(), 2)
        try:
            return status.guarded(run, list(argv))
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)

    def test_no_exception_is_ever_1(self):
        for error in (ValueError("x"), MemoryError(), RecursionError(), ZeroDivisionError(), KeyError("x"), ImportError("x"), AssertionError(), SystemExit("text"),
                      BaseException("x"), GeneratorExit(), OSError(28, "full"), UnicodeEncodeError("ascii", "x", 0, 1, "y"), subprocess.CalledProcessError(1, "x")):
            code = self.raised(error)
            self.assertIn(code, (2, 3), error)
            self.assertIn(self.raised(error, "--bisect"), (125, 129), error)
        self.assertEqual(self.raised(ValueError("x"), "--bisect"), 129)
        self.assertEqual(self.raised(KeyboardInterrupt(), "--bisect"), 130)

    def test_what_cannot_even_be_loaded(self):
        with tempfile.TemporaryDirectory() as tmp:
            scripts = Path(tmp) / "scripts"
            (scripts / "dataplane_lib/cli").mkdir(parents=True)
            (scripts / "dataplane").write_bytes((SRC / "scripts/dataplane").read_bytes())
            for package in ("dataplane_lib", "dataplane_lib/cli"):
                (scripts / package / "__init__.py").write_text("")
            self.assertGreaterEqual(subprocess.run(["/usr/bin/python3", scripts / "dataplane", "list"], capture_output=True, check=False).returncode, 128)
            (scripts / "dataplane_lib/cli/status.py").write_bytes((SRC / "scripts/dataplane_lib/cli/status.py").read_bytes())
            (scripts / "dataplane_lib/errors.py").write_bytes((SRC / "scripts/dataplane_lib/errors.py").read_bytes())
            (scripts / "dataplane_lib/cli/main.py").write_text("raise ValueError('broken')\n")
            for more, code in (((), 3), (("--bisect",), 129)):
                self.assertEqual(subprocess.run(["/usr/bin/python3", scripts / "dataplane", *more], capture_output=True, check=False).returncode, code)

    def test_documented(self):
        text = (SRC / "docs/exit-codes.md").read_text()
        documented = sorted(map(int, re.findall(r"^\| (\d+) \|", text, flags=re.M)))
        self.assertEqual(documented, sorted(map(int, re.findall(r"^ +(\d+)  ", status.HELP, flags=re.M))))


class Bisect(Base):
    """A history of a tree of the user's, of which one commit lacks the job, and another cannot be measured."""

    def setUp(self):
        super().setUp()
        # What a commit has is run, and fails.
        self.env["FAKE_FIO"] = "exit"

    def git(self, *args):
        return subprocess.run(["git", "-C", str(self.tree), "-c", "user.name=n", "-c", "user.email=e", *args], capture_output=True, text=True, check=False,
                              env={**self.env, "GIT_CONFIG_GLOBAL": os.devnull})

    def commit(self, name):
        self.git("add", "-A")
        self.assertEqual(self.git("commit", "-q", "-m", name).returncode, 0)

    def history(self):
        self.tree = self.dir / "tree"
        self.tree.mkdir()
        self.git("init", "-q")
        (self.tree / "note").write_text("begin")
        self.commit("good")
        self.git("tag", "good")
        (self.tree / "lacks").write_text("the job")
        self.commit("lacks the job")
        (self.tree / "job.fio").write_text((self.dir / "job.fio").read_text())
        self.commit("has the job")
        (self.tree / "note").write_text("end")
        self.commit("bad")

    def bisect(self, *more):
        self.git("bisect", "start", "HEAD", "good")
        done = self.git("bisect", "run", str(SRC / "scripts/dataplane"), "ab", "--a", "poll-max-ns=0", "--b", "poll-max-ns=0", "job.fio", "--set", "bs=4k",
                        "--runtime", "0.5", "--out", str(self.dir / "o"), *more)
        return done.stdout + done.stderr

    def test_what_a_commit_lacks_blames_none(self):
        self.history()
        said = self.bisect("--fail-if", "iops > 2%")
        self.assertIn("only 'skip'ped commits left", said)
        self.assertNotIn("is the first bad commit", said, said)

    def test_a_tree_that_lacks_makefile_build_option_or_job_blames_none(self):
        self.tree = self.dir / "tree"
        self.tree.mkdir()
        self.git("init", "-q")
        job = (self.dir / "job.fio").read_text()
        build = f"all:\n\tmkdir -p build/engines build/targets\n\tcp {self.dir}/targets/vhost-user-blk-target build/targets\n"
        for makefile, jobs, name in ((None, job, "good"), (None, job, "no Makefile"), ("all:\n\tfalse\n", job, "no build"), (build, None, "no job"), (build, job, "no option"), (build, job, "bad")):
            for path, text in (("Makefile", makefile), ("job.fio", jobs), ("note", name)):
                (self.tree / path).unlink(missing_ok=True)
                if text:
                    (self.tree / path).write_text(text)
            self.commit(name)
        self.git("bisect", "start", "HEAD", "HEAD~5")
        # The target that is built there refuses --frob.
        done = self.git("bisect", "run", str(SRC / "scripts/dataplane"), "ab", "--a", "poll-max-ns=0", "--b", "tree=. --frob 1", "job.fio", "--set", "bs=4k", "--runtime", "0.5",
                        "--out", str(self.dir / "o"), "--fail-if", "iops < -2%")
        said = done.stdout + done.stderr
        for why in ("(no Makefile)", "make -C .*: exit status 2", "job file or study not found: job.fio", "vhost-user-blk-target has no --frob"):
            self.assertRegex(said, why)
        self.assertIn("only 'skip'ped commits left", said)
        self.assertNotIn("is the first bad commit", said, said)

    def test_a_mistake_ends_it(self):
        self.history()
        said = self.bisect("--fail-if", "speed < 2%")
        self.assertIn("129", said)
        self.assertNotIn("is the first bad commit", said, said)


if __name__ == "__main__":
    unittest.main()
