# SPDX-License-Identifier: GPL-2.0-only
"""The search for the first bad commit: git's history, a work tree and a build a commit, and what is known so far, kept in a file.

The good commit's build is arm A of every step, run in pairs with that of the commit in question, so that what drifts is in both. A commit that does not build, or of
which nothing can be said, is left out, and another one near it is tried, as git bisect does; it never becomes the culprit.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import files, paths
from ..errors import INCONCLUSIVE, NotMeasured, Refused

GOOD, BAD, SKIPPED = "good", "bad", "skipped"


class Undecided(Refused):
    """The runs that were made do not tell."""
    status = INCONCLUSIVE


class Repository:
    """A git repository, and work trees of its commits under PLACE."""

    def __init__(self, directory, place):
        self.directory, self.place = Path(directory), Path(place)

    def git(self, *args):
        """What git prints; Refused with what it says against it."""
        done = subprocess.run(["git", "-C", str(self.directory), *args], capture_output=True, text=True, errors="surrogateescape", check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Refused(f"git {args[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        return done.stdout.strip()

    def commit(self, name):
        """The full name of the commit that NAME means."""
        return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") if name else ""

    def told(self, commit):
        """'1a2b3c4 the subject'."""
        return self.git("log", "-1", "--format=%h %s", commit)

    def candidates(self, goods, bad):
        """The commits that may be the first bad one, BAD among them, the one to try next first."""
        lines = self.git("rev-list", "--bisect-all", bad, *(f"^{good}" for good in goods)).splitlines()
        return [line.split(" ")[0] for line in lines]

    def is_ancestor(self, one, other):
        return subprocess.run(["git", "-C", str(self.directory), "merge-base", "--is-ancestor", one, other], capture_output=True, check=False).returncode == 0

    def tree(self, commit, build):
        """The work tree of COMMIT, built by the shell command BUILD; NotMeasured where that fails. One that is there is taken."""
        tree, mark = self.place / "trees" / commit, self.place / "built" / commit
        if not tree.exists():
            self.git("worktree", "prune")
            self.git("worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
            _lend_headers(tree)
        if not mark.exists():
            log = self.place / "logs" / f"{commit}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            print(f"dataplane: building {self.told(commit)}", file=sys.stderr, flush=True)
            with open(log, "wb") as file:
                done = subprocess.run(["sh", "-c", build], cwd=tree, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise NotMeasured(f"{build}: exit status {done.returncode} (see {log})")
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        return tree

    def remove_trees(self):
        """Remove all work trees, and the marks that they are built."""
        for tree in sorted((self.place / "trees").glob("*")):
            subprocess.run(["git", "-C", str(self.directory), "worktree", "remove", "--force", str(tree)], capture_output=True, check=False)
        shutil.rmtree(self.place / "trees", ignore_errors=True)
        shutil.rmtree(self.place / "built", ignore_errors=True)
        subprocess.run(["git", "-C", str(self.directory), "worktree", "prune"], capture_output=True, check=False)


def _lend_headers(tree):
    """A work tree of this project gets fio's headers from here, so that they are not fetched for each."""
    if (tree / "scripts/fio-headers").exists() and paths.in_tree():
        for found in (paths.HOME / "build").glob("fio-*"):
            if found.is_dir():
                shutil.copytree(found, tree / "build" / found.name, symlinks=True)


@dataclass
class Step:
    """What was found about a commit: VERDICT, in how many RUNS and SECONDS, and in WORDS."""
    verdict: str
    words: str
    runs: int = 0
    seconds: float = 0.0


class Bisection:
    """The search in REPOSITORY between the commits GOOD and BAD; JUDGE(commit) gives the Step of one. What it knows is in PLACE/state.json.

    With another EFFORT (budget, pairs) than before, what was measured and stayed undecided is measured again.
    """

    def __init__(self, repository, good, bad, question, judge, effort=None):
        self.repository, self.good, self.bad = repository, good, bad
        self.judge = judge
        self.path = repository.place / "state.json"
        self.question = {"good": good, "bad": bad, **question}
        self.effort, self.known = effort or {}, {}
        if self.path.exists():
            kept = files.read_json(self.path)
            if kept.get("question") != self.question:
                raise Refused(f"{repository.place}: holds another bisection: give another --out, or remove it")
            steps = {commit: Step(**step) for commit, step in kept["steps"].items()}
            again = kept.get("effort", {}) != self.effort
            self.known = {commit: step for commit, step in steps.items() if not (again and step.verdict == SKIPPED and step.runs)}

    def step(self, commit):
        """The Step of COMMIT, which is kept before anything else is done."""
        if commit not in self.known:
            self.known[commit] = self.judge(commit)
            files.write_whole(self.path, json.dumps({"question": self.question, "effort": self.effort, "steps": {c: vars(s) for c, s in self.known.items()}}, indent=1) + "\n")
        return self.known[commit]

    def search(self, say):
        """The first bad commit, and the skipped ones that may be it as well; SAY(commit, Step) is told of each that was tried."""
        ends = self.step(self.bad)
        say(self.bad, ends)
        if ends.verdict == GOOD:
            raise Refused(f"{self.question['names'][1]} is no worse than {self.question['names'][0]}: {ends.words}")
        if ends.verdict == SKIPPED:
            if ends.runs:
                raise Undecided(f"{self.question['names'][1]}: {ends.words}; with a longer --budget it is measured again")
            raise NotMeasured(f"{self.question['names'][1]}: {ends.words}")
        goods, bad, skipped = [self.good], self.bad, set()
        while True:
            left = [c for c in self.repository.candidates(goods, bad) if c != bad and c not in skipped]
            if not left:
                return bad, [c for c in self.repository.candidates(goods, bad) if c in skipped]
            step = self.step(left[0])
            say(left[0], step)
            if step.verdict == GOOD:
                goods.append(left[0])
            elif step.verdict == BAD:
                bad = left[0]
            else:
                skipped.add(left[0])
