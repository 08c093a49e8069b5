#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Arms that are no product: groups of factors, and values that stand for a server, an engine or a workload."""

import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.model import studyfile
from dataplane_lib.run import runner
from dataplane_lib.errors import Refused

JOB = "[global]\nlat_percentiles=1\nuri=${uri}\nrw=${rw}\nnumjobs=${jobs}\n"
STUDY = """
job = "job.fio"
file = "1m"
[target]
program = "nbd-target"
options = "--backend file:$file --poll off"
[variables]
jobs = "4"
[choices.server]
ours = {}
other = { command = "peer $socket $file", clients = 1, stop = "INT" }
[choices.engine]
mine = { job = "job.fio" }
stock = { job = "stock.fio" }
[choices.scenario]
write = { variables = { rw = "write" } }
read = { variables = { rw = "read" }, options = "--request-cost 2us" }
[baseline]
server = "ours"
wakeup = "sem"
[[arms]]
server = ["ours"]
wakeup = ["sem", "futex"]
engine = ["mine", "stock"]
scenario = ["write"]
[[arms]]
server = ["ours"]
wakeup = ["futex", "spin"]
engine = ["mine"]
scenario = ["write", "read"]
[[arms]]
server = ["other"]
engine = ["stock"]
scenario = ["write"]
"""


class Arms(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        (self.dir / "job.fio").write_text(JOB + "mine=${wait}\n[a]\n")
        (self.dir / "stock.fio").write_text(JOB + "[a]\n[b]\nnumjobs=3\n")

    def load(self, text=STUDY):
        (self.dir / "study.toml").write_text(text.replace('jobs = "4"', 'jobs = "4"\nwait = "poll"'))
        study = studyfile.load(self.dir / "study.toml")
        studyfile.check(study)
        return study

    def arm(self, study, *values):
        return next(a for a in study.arms() if list(a.values.values()) == list(values))

    def test_each_combination_of_a_group_once(self):
        names = [" ".join(a.values.values()) for a in self.load().arms()]
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertEqual(set(names), {
            "ours sem mine write", "ours sem stock write", "ours futex mine write", "ours futex stock write",
            "ours spin mine write", "ours futex mine read", "ours spin mine read", "other stock write",
            "ours sem mine read"})

    def test_a_workload_has_a_baseline_of_its_own(self):
        study = self.load()
        against = {a.name: a.against for a in study.arms()}
        self.assertEqual(against["server=other engine=stock scenario=write"],
                         "server=ours wakeup=sem engine=stock scenario=write")
        self.assertEqual(against["server=ours wakeup=spin engine=mine scenario=read"],
                         "server=ours wakeup=sem engine=mine scenario=read")
        self.assertEqual(sum(a.baseline for a in study.arms()), 3)

    def test_what_a_value_stands_for(self):
        study = self.load()
        ours = study.setup(self.arm(study, "ours", "futex", "mine", "read"))
        self.assertEqual(ours.job.name, "job.fio")
        self.assertEqual(ours.variables, {"rw": "read", "jobs": "4", "wait": "poll"})
        self.assertEqual(" ".join(ours.server.options),
                         "--backend file:$file --poll off --request-cost 2us --wakeup futex")
        other = study.setup(self.arm(study, "other", "stock", "write"))
        self.assertEqual(other.server.command, ["peer", "$socket", "$file"])
        self.assertEqual((other.server.program, other.server.options, other.server.stop), (None, [], "INT"))
        self.assertEqual(other.variables, {"rw": "write", "jobs": "4"})

    def test_waiting_jobs_get_the_time_of_all_before_them(self):
        study = self.load()
        other = study.setup(self.arm(study, "other", "stock", "write"))
        self.assertEqual(runner.turns(other, {"jobs": "4"}), 7)
        ours = study.setup(self.arm(study, "ours", "sem", "stock", "write"))
        self.assertEqual(runner.turns(ours, {"jobs": "4"}), 1)

    def test_only_the_job_is_varied(self):
        """Then everything is compared with the first arm, which is said, unless a baseline is named."""
        (self.dir / "job.fio").write_text("[global]\nlat_percentiles=1\nuri=${uri}\nbs=${bs}\niodepth=${depth}\n[a]\n")
        text = 'job = "job.fio"\n[target]\nprogram = "nbd-target"\n[factors]\nbs = ["512", "64k"]\ndepth = [1, 8]\n'
        study = self.load(text)
        self.assertEqual({a.against for a in study.arms()}, {"bs=512 depth=1"})
        self.assertEqual(study.first_of_all(), "all arms are compared with the first, bs=512 depth=1; a baseline of depth=1 "
                         "(--baseline of sweep, [baseline] of a study) compares within each bs")
        study.baseline = {"depth": "1"}
        self.assertEqual({a.name: a.against for a in study.arms()}["bs=64k depth=8"], "bs=64k depth=1")
        self.assertEqual(study.first_of_all(), "")
        for more in ('poll = ["off", "busy"]\n', None):
            other = self.load(text + more if more else text.replace("depth = [1, 8]", "").replace("[target]", '[variables]\ndepth = "1"\n[target]'))
            self.assertEqual(other.first_of_all(), "")

    def test_vary_narrows_groups(self):
        """A group keeps the values it had; one that had none of them goes."""
        study = self.load()
        study.vary("wakeup", ["spin", "eventfd"])
        self.assertEqual({" ".join(a.values.values()) for a in study.arms() if not a.baseline}, {
            "ours eventfd mine write", "ours eventfd stock write", "ours spin mine write", "ours eventfd mine read",
            "ours spin mine read", "other stock write"})
        study.vary("server", ["other"])
        self.assertEqual([" ".join(a.values.values()) for a in study.arms() if not a.baseline], ["other stock write"])

    def test_vary_what_no_group_has(self):
        study = self.load()
        study.vary("poll", ["off", "busy"])
        self.assertEqual({a.values.get("poll") for a in study.arms() if not a.baseline}, {"off", "busy"})

    def test_set_wins_over_a_choice(self):
        study = self.load()
        study.fix("rw", "randwrite")
        self.assertEqual(study.setup(self.arm(study, "ours", "sem", "mine", "write")).variables["rw"], "randwrite")
        with self.assertRaisesRegex(Refused, "is varied"):
            study.fix("wakeup", "sem")

    def test_mistakes(self):
        for word, old, new in (
                ("clients=some", "clients = 1", 'clients = "some"'), ("stop=HUP", '"INT"', '"HUP"'),
                ("frob: unknown", "clients = 1", "frob = 1"), ("server=theirs: unknown", '["other"]', '["theirs"]'),
                ("not available with a command", "clients = 1", 'options = "--x 1"'), ("file", 'file = "1m"', ""),
                ("file=much", '"1m"', '"much"'), ("job file not found", '"stock.fio"', '"gone.fio"'),
                ("wakeup is neither", '["other"]', '["other"]\nwakeup = ["sem"]'),
                ("ready=soon", "clients = 1", 'ready = "soon"'), ("pin=1", 'job = "job.fio"', 'job = "job.fio"\npin = 1')):
            with self.assertRaisesRegex(Refused, word):
                self.load(STUDY.replace(old, new, 1))


if __name__ == "__main__":
    unittest.main()
