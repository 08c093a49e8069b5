#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The line on what was measured says of every server what it is, on what it works and how it polls."""

import unittest

import fakes  # noqa: F401, the path of the modules
from dataplane_lib.model import device

STUDY = {"name": "mine", "title": "", "job": "job.fio", "program": "nbd-target", "options": ["--backend", "file:$file", "--poll", "off"],
         "command": None, "variables": {}, "factors": {}, "choices": {}, "baseline": {}}


class Line(unittest.TestCase):
    def line(self, **settings):
        return device.described({**STUDY, **settings})

    def servers(self, choices, **settings):
        return self.line(choices={"server": choices}, factors={"server": list(choices), **settings.pop("factors", {})}, **settings)

    def test_one(self):
        self.assertEqual(self.line(), "device: file:$file without delay; policy: off; job: job.fio")
        self.assertEqual(self.line(options="--delay 14us --device-parallel 2", title="Mine: it works"),
                         "device: null, 14us a request, 2 at a time; policy: adaptive; job: mine/job.fio")
        self.assertEqual(self.line(program="guest", options="--disk vhost-user-blk --backend ram --poll busy"),
                         "device: a guest's vhost-user-blk, ram without delay; policy: busy; job: job.fio")
        self.assertEqual(self.line(program="guest", options="--latency-ns 14us"), "device: QEMU's virtio-blk, null-co, 14us a request; job: job.fio")

    def test_command(self):
        self.assertEqual(self.line(command=["/opt/x/qemu-nbd", "-k", "$socket", "$file"], options=[], program=None),
                         "server: qemu-nbd -k $socket $file; job: job.fio")
        self.assertEqual(self.line(command=["/opt/x/qemu-storage-daemon", "--blockdev", "x" * 100], options=[], program=None),
                         "server: qemu-storage-daemon; job: job.fio")

    def test_several(self):
        self.assertEqual(self.servers({"ours": {}, "theirs": {"command": "/usr/bin/qemu-nbd -k $socket --cache=none $file"},
                                       "pool": {"options": "--backend ram --delay 5us"}}),
                         "server: ours (file:$file), theirs (qemu-nbd -k $socket --cache=none $file), pool (ram, 5us a request); policy: off; job: job.fio")

    def test_policies_that_differ(self):
        self.assertEqual(self.servers({"ours": {}, "vhost": {"program": "vhost-user-blk-target", "options": "--poll busy"}}),
                         "server: ours (file:$file, policy off), vhost (vhost-user-blk-target, file:$file, policy busy); job: job.fio")

    def test_options_of_another_program(self):
        """A guest has none of the options that [target] gives the study's own target."""
        self.assertEqual(self.servers({"ours": {}, "qemu": {"program": "guest", "options": "--backend file:$file"},
                                       "guest": {"program": "guest", "options": "--disk vhost-user-blk"}}, factors={"poll": ["off", "busy"]}),
                         "server: ours (file:$file), qemu (QEMU's virtio-blk, file:$file), guest (a guest's vhost-user-blk, null); "
                         "policy: off|busy; job: job.fio")

    def test_many(self):
        choices = {f"s{n}": {"command": "true"} for n in range(10)}
        self.assertEqual(self.servers(choices), "server: s0, s1, s2, s3, s4, s5, s6, s7 and 2 more; job: job.fio")


if __name__ == "__main__":
    unittest.main()
