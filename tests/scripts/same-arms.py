#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Arms that run the same are one arm; a job's own times count in the estimate."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.errors import Refused
from dataplane_lib.model import configuration, study, studyfile
from dataplane_lib.run import session

BUILD = Path(os.environ.get("FIO_DATAPLANE") or fakes.ROOT / os.environ.get("B", "build")).resolve()
JOB = ("[global]\nioengine=external:/x/vhost-user-blk.so\nsocket=${socket}\nlat_percentiles=1\nrw=randread\nbs=${bs}\n"
       "[a]\nruntime=7\nramp_time=500ms\n[b]\niodepth=8\nruntime=${runtime}\n")


class Same(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.job = Path(tmp.name) / "job.fio"
        self.job.write_text(JOB)
        os.environ["FIO_DATAPLANE"] = str(BUILD)

    def chosen(self, options="--backend null", baseline=None, **factors):
        made = study.Study(name="x", job=self.job, variables={"bs": "4k"}, factors=factors, baseline=baseline)
        made.server = made.server.changed({"options": options}, "here")
        return made

    def folded(self, *args, **factors):
        made = self.chosen(*args, **factors)
        configuration.Configurations(made).fold()
        return [arm.name for arm in made.arms()], [skip["name"] for skip in made.skipped]

    def test_windows_without_polling(self):
        factors = {"poll": ["off", "fixed"], "poll-max-ns": ["0", "4us", "8us"]}
        kept, left = self.folded(**factors)
        self.assertEqual(kept, ["poll=off poll-max-ns=0", "poll=fixed poll-max-ns=0", "poll=fixed poll-max-ns=4us", "poll=fixed poll-max-ns=8us"])
        self.assertEqual(left, ["poll=off poll-max-ns=4us", "poll=off poll-max-ns=8us"])
        self.assertEqual(self.folded("--backend null", {"poll": "off"}, **factors)[0][0], "poll=off")

    def test_baseline_against_itself(self):
        """A factor's value that is the target's default is what the baseline without that factor runs."""
        kept, left = self.folded("--backend null", {"poll": "off"}, poll=["off"], iothreads=["1", "2"])
        self.assertEqual((kept, left), (["poll=off", "poll=off iothreads=2"], ["poll=off iothreads=1"]))

    def test_same_number_written_twice(self):
        self.assertEqual(self.folded(**{"poll-max-ns": ["4096", "4096ns", "4us"]}),
                         (["poll-max-ns=4096", "poll-max-ns=4us"], ["poll-max-ns=4096ns"]))

    def test_nothing_left(self):
        with self.assertRaisesRegex(Refused, "poll-max-ns=8us is the same configuration as poll-max-ns=4us, and no other arm"):
            self.folded("--poll busy", **{"poll-max-ns": ["4us", "8us"]})

    def test_studies_keep_their_arms(self):
        """No study of ours runs the same twice."""
        for path in studyfile.all_studies():
            made = studyfile.load(path)
            before = len(made.arms())
            configuration.Configurations(made).fold()
            self.assertEqual((path.parent.name, made.skipped, len(made.arms())), (path.parent.name, [], before))

    def test_a_jobs_own_runtime(self):
        made = self.chosen(poll=["off", "busy"])
        made.runtime, made.ramp = 1.0, 0.2
        self.assertAlmostEqual(session.seconds_each(made, made.arms()), 7.5 + session._OVERHEAD_S)


if __name__ == "__main__":
    if not (BUILD / "targets" / "vhost-user-blk-target").exists():
        print("SKIP: the target is not built")
        sys.exit(77)
    unittest.main()
