#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""An arm may be options, variables, a program, a server's command or a tree; a mistake is one line, exit status 1."""

import contextlib
import io
import os
import shlex
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.cli import main
from dataplane_lib.model import ab_arms
from dataplane_lib.errors import Refused
from dataplane_lib.model.server import Server

TARGET = Server(program="vhost-user-blk-target")
COMMAND = Server(command=["$qemu", "-k", "$socket", "--cache=$cache"])


def table(text, serving=TARGET, variables=("bs",)):
    return ab_arms.table(ab_arms.parse(text, "--a"), "--a", set(variables), serving)


class Arms(unittest.TestCase):
    def test_options_and_variables(self):
        want = {"variables": {"bs": "8k"}, "options": "--poll-max-ns 4096 --poll fixed"}
        self.assertEqual(table("bs=8k poll-max-ns=4096 --poll fixed"), want)
        self.assertEqual(table("bs=8k --poll-max-ns=4096")["options"], "--poll-max-ns=4096")
        self.assertEqual(table(""), {"variables": {}})

    def test_program(self):
        self.assertEqual(table("program=nbd-target")["program"], "nbd-target")
        self.assertEqual(table("program=/bin/true")["program"], "/bin/true")
        with self.assertRaisesRegex(Refused, "is not a program"):
            table("program=/no/such")

    def test_command(self):
        found = table("'qemu=/opt/my qemu' cache=none", COMMAND)["command"]
        self.assertEqual(shlex.split(found), ["/opt/my qemu", "-k", "$socket", "--cache=none"])
        with self.assertRaisesRegex(Refused, "other is neither"):
            table("other=1", COMMAND)
        with self.assertRaisesRegex(Refused, "not an option of another"):
            table("--poll off", COMMAND)
        self.assertNotIn("command", table("program=nbd-target --poll off", COMMAND))

    def test_build_directory(self):
        with tempfile.TemporaryDirectory() as tmp:
            with self.assertRaisesRegex(Refused, "no engines/"):
                table(f"build={tmp}")
            os.mkdir(f"{tmp}/engines")
            found = table(f"build={tmp} poll=off")
            place = str(Path(tmp).resolve())
            self.assertEqual(found["variables"]["FIO_DATAPLANE"], place)
            self.assertEqual(found["program"], f"{place}/targets/vhost-user-blk-target")

    def test_mistakes(self):
        for text, word in (("poll", "expected NAME=VALUE"), ("a=1 a=2", "given twice"), ("'", "quotation"),
                           ("tree=/nowhere", "not a source tree"), ("tree=/a build=/b", "exclude each other")):
            with self.assertRaisesRegex(Refused, word):
                table(text)


class CommandLine(unittest.TestCase):
    def refused(self, word, *args):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            self.assertEqual(main.main(list(args)), 2, args)
        self.assertEqual(len(said.getvalue().splitlines()), 1, said.getvalue())
        self.assertIn(word, said.getvalue())

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as tmp:
            fakes.install(tmp)
            usual = ("ab", "--a", "", "--b", "poll=off", f"{tmp}/job.fio")
            self.refused("${bs} has no value", *usual)
            self.refused("required: --a", "ab", "--b", "", f"{tmp}/job.fio")
            for word, *more in (("--pairs must be an even number of 6 or more (is 7)", "--pairs", "7"), ("--pairs must be an even number of 6 or more (is 4)", "--pairs", "4"), ("--budget", "--budget", "5m"),
                                ("--restore", "--restore", "true"), ("--precision", "--precision", "soon"),
                                ("--fail-if", "--fail-if", "x"), ("--dead-band", "--dead-band", "1"), ("--primary", "--primary", "speed"),
                                ("exclude", "--program", "a", "--server", "b $socket"),
                                ("--cool-down", "--cool-down", "later"), ("expected NAME=VALUE", "--set", "b")):
                self.refused(word, *usual, "--set", "bs=4k", *more)


if __name__ == "__main__":
    unittest.main()
