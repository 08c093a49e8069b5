#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The recipes of docs/ci.md: every command line is one that dataplane takes, and the steps end as they should whatever it ends with."""

import os
import re
import shlex
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.cli import main
from dataplane_lib.judge import gate

SRC = Path(__file__).resolve().parents[2]
_TEXT = (SRC / "docs/ci.md").read_text()
_COMMAND = re.compile(r"(?:[^\n]*?[ -])?scripts/dataplane ((?:[^\n\\]|\\\n|\\[^\n])*)")


def steps(block):
    """The shell scripts of a file: run: of GitHub's, the items of script: and its neighbours of GitLab's."""
    out = []
    lines = block.splitlines()
    for n, line in enumerate(lines):
        match = re.match(r"( *)(?:- )?run: (.*)", line)
        if match and match[2] != "|":
            out.append(match[2])
        elif match:
            rest = []
            for more in lines[n + 1:]:
                if len(more) - len(more.lstrip()) <= len(match[1]) + 2 and more.strip():
                    break
                rest.append(more)
            out.append(textwrap.dedent("\n".join(rest)))
        elif re.match(r" +(?:before_|after_)?script:$", line):
            indent = len(line) - len(line.lstrip())
            for more in lines[n + 1:]:
                if not more.startswith(" " * (indent + 2) + "- "):
                    break
                out.append(more.strip().removeprefix("- "))
    return out


class Recipes(unittest.TestCase):
    def setUp(self):
        self.github, self.gitlab = (steps(block) for block in re.findall(r"```yaml\n(.*?)```", _TEXT, re.S))

    def test_every_command_line_can_be_parsed(self):
        found = [c.partition(">>")[0].partition("||")[0].replace("\\\n", " ") for c in _COMMAND.findall(_TEXT)]
        self.assertGreater(len(found), 12)
        commands = set()
        for line in found:
            argv = shlex.split(line.replace("`", ""))
            args = main.commands().parse(argv, str)
            gate.parse(getattr(args, "fail_if", None) or [], 1.0)
            commands.add(argv[0])
        self.assertLessEqual({"ab", "doctor", "history", "bisect", "baseline", "compare"}, commands)

    def run_step(self, script, status, shell=("bash", "-e")):
        """(exit status, what it printed, the arguments) of SCRIPT where dataplane ends with STATUS."""
        with tempfile.TemporaryDirectory() as tmp:
            tmp = Path(tmp)
            (tmp / "scripts").mkdir()
            (tmp / "scripts/dataplane").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp}/args\necho said\nexit {status}\n')
            (tmp / "scripts/dataplane").chmod(0o755)
            (tmp / "git").write_text("#!/bin/sh\necho v1.0\necho v0.9\n")
            (tmp / "git").chmod(0o755)
            (tmp / "step").write_text(script)
            env = {"PATH": f"{tmp}:{os.environ['PATH']}", "GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(tmp / "summary"), "GOOD": "v1.0", "BAD": "HEAD",
                   "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
            done = subprocess.run([*shell, str(tmp / "step")], cwd=tmp, env=env, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + ((tmp / "summary").read_text() if (tmp / "summary").exists() else ""), (tmp / "args").read_text().splitlines()

    def test_steps_of_github(self):
        gates = [s for s in self.github if "dataplane ab" in s]
        self.assertEqual(len(gates), 2)
        for script, against in zip(gates, ("origin/main", "last-good,v1.0")):
            for status, ends in ((0, (0,)), (4, (0,)), (1, (1,)), (2, (1, 2)), (3, (1, 3)), (130, (1, 130))):
                code, said, args = self.run_step(script, status)
                self.assertIn(code, ends, script)
                self.assertIn("said", said)
                self.assertEqual(args[:3], ["ab", "--against", against])
        self.assertIn("::warning::", self.run_step(gates[0], 4)[1])
        for script in (s for s in self.github if "dataplane" in s and "dataplane ab" not in s):
            self.assertEqual(self.run_step(script, 4)[0], 4, script)

    def test_steps_of_gitlab(self):
        scripts = [s for s in self.gitlab if "scripts/dataplane" in s]
        self.assertEqual(len(scripts), 5)
        for script in scripts:
            # GitLab itself knows what 4 means.
            for status in (0, 1, 4):
                self.assertEqual(self.run_step(script, status, ("bash", "-eo", "pipefail"))[0], status, script)

    def test_what_is_built_exists(self):
        for script in self.github + self.gitlab:
            for word in re.findall(r"scripts/[a-z-]+", script):
                self.assertTrue((SRC / word).exists(), word)


if __name__ == "__main__":
    unittest.main()
