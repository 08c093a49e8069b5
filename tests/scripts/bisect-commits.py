#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dataplane bisect finds the first bad commit of a real history, never blames one that it could not judge, and goes on where it was."""

import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes  # noqa: F401
from dataplane_lib.cli import bisect, main
from dataplane_lib.errors import NotMeasured, Refused
from dataplane_lib.run.bisection import BAD, GOOD, SKIPPED, Bisection, Repository, Step, Undecided


class Search(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        self.repo = self.dir / "repo"
        self.repo.mkdir()
        self.git("init", "-q")
        self.commits = [self.commit(n) for n in range(13)]
        self.asked = []

    def git(self, *args):
        done = subprocess.run(["git", "-C", str(self.repo), "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", *args], capture_output=True, text=True, check=True,
                              env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
        return done.stdout.strip()

    def commit(self, number):
        (self.repo / "number").write_text(f"{number}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"commit {number}")
        return self.git("rev-parse", "HEAD")

    def search(self, first_bad, skipped=(), question=None, stop_after=None, effort=None, runs=16):
        repository = Repository(self.repo, self.dir / "place")
        repository.place.mkdir(exist_ok=True)
        if not runs:
            (repository.place / "state.json").unlink(missing_ok=True)

        def judge(commit):
            if stop_after is not None and len(self.asked) >= stop_after:
                raise KeyboardInterrupt
            number = self.commits.index(commit)
            self.asked.append(number)
            return Step(SKIPPED if number in skipped else BAD if number >= first_bad else GOOD, f"measured {number}", runs, 1.0)
        search = Bisection(repository, self.commits[0], self.commits[-1], {"names": ["good", "bad"], **(question or {})}, judge, effort)
        return search.search(lambda commit, step: None)

    def test_every_place_in_few_steps(self):
        for first_bad in range(1, 13):
            self.asked = []
            culprit, open_ = self.search(first_bad)
            self.assertEqual((self.commits.index(culprit), open_), (first_bad, []))
            self.assertLessEqual(len(self.asked), 5)
            (self.dir / "place/state.json").unlink()

    def test_equal_ends_are_refused_after_one_comparison(self):
        with self.assertRaisesRegex(Refused, "bad is no worse than good: measured 12"):
            self.search(99)
        self.assertEqual(self.asked, [12])

    def test_an_end_that_cannot_be_measured(self):
        with self.assertRaises(Undecided) as err:
            self.search(5, skipped=(12,))
        self.assertEqual(err.exception.status, 4)
        with self.assertRaises(NotMeasured):
            self.search(5, skipped=(12,), question={"runs": 0}, runs=0)

    def test_what_is_skipped_is_never_blamed_alone(self):
        culprit, open_ = self.search(6, skipped=(5, 6))
        # 6 is bad and unknown: 7 is the first that was seen to be, and both others stay open.
        self.assertEqual(self.commits.index(culprit), 7)
        self.assertEqual({self.commits.index(c) for c in open_}, {5, 6})
        (self.dir / "place/state.json").unlink()
        culprit, open_ = self.search(6, skipped=(2, 10))
        self.assertEqual((self.commits.index(culprit), open_), (6, []))

    def test_it_goes_on_where_it_was(self):
        with self.assertRaises(KeyboardInterrupt):
            self.search(6, stop_after=2)
        before = list(self.asked)
        culprit, _ = self.search(6)
        self.assertEqual(self.commits.index(culprit), 6)
        self.assertEqual(len(self.asked), len(set(self.asked)))
        self.assertEqual(self.asked[:2], before)

    def test_with_another_budget_what_was_undecided_is_measured_again(self):
        culprit, open_ = self.search(6, skipped=(5, 6))
        self.assertEqual((self.commits.index(culprit), len(open_)), (7, 2))
        self.asked = []
        self.search(6)
        self.assertEqual(self.asked, [])
        culprit, open_ = self.search(6, effort={"budget": "1h"})
        self.assertEqual((self.commits.index(culprit), open_), (6, []))
        self.assertLessEqual({5, 6}, set(self.asked))

    def test_another_question_does_not_go_on_with_it(self):
        self.search(6)
        with self.assertRaisesRegex(Refused, "holds another bisection"):
            self.search(6, question={"job": "other"})

    def test_merges(self):
        self.git("checkout", "-q", "-b", "side", self.commits[3])
        (self.repo / "side").write_text("x")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "side")
        side = self.git("rev-parse", "HEAD")
        self.git("checkout", "-q", "-")
        self.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        self.commits += [side, self.git("rev-parse", "HEAD")]
        culprit, _ = self.search(13)
        self.assertEqual(culprit, side)

    def test_trees_are_built_once_and_removed(self):
        repository = Repository(self.repo, self.dir / "place")
        build = f"echo built >>{self.dir}/log; cat number"
        for _ in range(2):
            tree = repository.tree(self.commits[4], build)
            self.assertEqual((tree / "number").read_text(), "4\n")
        self.assertEqual((self.dir / "log").read_text(), "built\n")
        with self.assertRaisesRegex(NotMeasured, "exit status 7"):
            repository.tree(self.commits[5], "exit 7")
        repository.remove_trees()
        self.assertFalse((self.dir / "place/trees").exists())
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_from_the_command_line_to_the_culprit(self):
        """What ab is asked can be parsed, its answer is the step's, and all of it is in --json."""
        def compared(argv):
            given = main.commands().parse(argv[2:], str)
            self.assertEqual((given.pairs, given.no_history, given.no_bisect, given.fail_if), (6, True, True, ["iops < -2%"]))
            a, b = (int((Path(arm.removeprefix("dir=")) / "number").read_text()) for arm in (given.a, given.b))
            self.assertEqual(a, 0)
            Path(given.out).mkdir(parents=True)
            (Path(given.out) / "result.json").write_text(json.dumps({"runs": [{}] * 12, "gate": {"sentences": [f"--fail-if iops < -2 %: measured {b}"]}}))
            return int(b >= 7)
        out = io.StringIO()
        with mock.patch.object(bisect, "_compared", compared), contextlib.redirect_stdout(out):
            code = main.main(["bisect", self.commits[0], "HEAD", "job.fio", "--repo", str(self.repo), "--build", "test $(cat number) != 6", "--server", "$dir/serve $socket",
                              "--fail-if", "iops < -2%", "--pairs", "6", "--out", str(self.dir / "place"), "--json", "-"])
        found = json.loads(out.getvalue())
        # 6 does not build.
        self.assertEqual((code, found["first_bad"], found["not_ruled_out"]), (4, self.commits[7], [self.commits[6]]))
        steps = {self.commits.index(step["commit"]): step for step in found["steps"]}
        self.assertEqual((steps[7]["verdict"], steps[7]["words"], steps[7]["runs"]), ("bad", "iops < -2 %: measured 7", 12))
        self.assertEqual((steps[6]["verdict"], steps[6]["runs"]), ("skipped", 0))

    def test_mistakes(self):
        for args in (("nope", "HEAD"), (self.commits[5], self.commits[2]), (self.commits[5], self.commits[5])):
            self.assertEqual(main.main(["bisect", *args, "poll-max-ns", "--fail-if", "iops < -2%", "--repo", str(self.repo), "--out", str(self.dir / "x")]), 2)
        self.assertEqual(main.main(["bisect", self.commits[2], self.commits[5], "x", "--fail-if", "speed < -2%", "--repo", str(self.repo)]), 2)
        self.assertFalse((self.dir / "x").exists())


if __name__ == "__main__":
    unittest.main()
