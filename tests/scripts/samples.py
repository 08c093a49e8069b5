#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""IOPS samples of several jobs are summed second by second, and only where as many jobs ran as usual."""

import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401
from dataplane_lib.read import fiojson, samples
from dataplane_lib.errors import RunFailed

START = 1796040605000


def job(start, values, step=1000):
    """A job that starts START + start ms and logs VALUES."""
    return [(START + start + i * step, START + start + (i + 1) * step, v) for i, v in enumerate(values)]


def summed(*jobs):
    return [round(v) for _, v in samples.summed(list(jobs), 1000)]


class Samples(unittest.TestCase):
    def test_together(self):
        self.assertEqual(summed(job(0, [10, 20, 30]), job(0, [1, 2, 3])), [11, 22, 33])
        self.assertEqual(samples.at_once([job(0, [10, 20, 30]), job(20, [1, 2, 3])]), 2)

    def test_a_lost_last_sample_is_not_a_job_that_waited(self):
        """fio logs one sample less for three of four jobs: the seconds of all four count."""
        short = [job(0, [10, 10, 10]) for _ in range(3)]
        self.assertEqual(summed(job(0, [10, 10, 10, 10]), *short), [40, 40, 40])

    def test_shifted_starts_are_weighed(self):
        """Half a second later, so each second of the sum is half of two samples."""
        self.assertEqual(summed(job(0, [100, 200, 300, 400]), job(500, [10, 10, 10, 10])), [160, 260, 360])

    def test_one_after_another(self):
        """A second in which one job ends and the next begins counts for neither."""
        jobs = [job(0, [10, 11, 12]), job(3300, [20, 21, 22]), job(6600, [30, 31, 32])]
        self.assertEqual(samples.at_once(jobs), 1)
        self.assertEqual(samples.together(jobs), (START + 6600, START + 9600))
        found = summed(*jobs)
        self.assertTrue(all(v <= 32 for v in found))
        self.assertGreaterEqual(len(found), 6)

    def test_figures(self):
        found = samples.figures([10.0, 20.0, 30.0])
        self.assertEqual((found["sample_min"], found["sample_max"], found["sample_mean"]), (10, 30, 20))
        self.assertAlmostEqual(found["sample_sd"], 10)
        self.assertEqual(samples.figures([]), {})

    def test_jobs_that_took_turns_are_not_summed(self):
        part = {"total_ios": 100, "iops": 100.0, "bw_bytes": 1 << 20, "drop_ios": 0,
                "lat_ns": {"N": 100, "mean": 1000, "bins": {"1000": 100}}}
        doc = {"jobs": [{"jobname": "j", "job_runtime": 1000, "usr_cpu": 10, "sys_cpu": 10, "write": part}] * 4}
        self.assertEqual(fiojson.figures(doc, 4)["iops"], 400)
        self.assertEqual(fiojson.figures(doc, None)["iops"], 400)
        alone = fiojson.figures(doc, 1)
        self.assertEqual((alone["iops"], alone["bw_mib"], alone["fio_user"]), (100, 1, 10))
        self.assertEqual(alone["fio_us_per_io"], 2000)

    def test_spread_of_jobs(self):
        def one(iops):
            part = {"total_ios": 1, "iops": iops, "bw_bytes": 1, "lat_ns": {"N": 1, "mean": 1, "bins": {"1": 1}}}
            return {"jobname": "j", "job_runtime": 1000, "usr_cpu": 1, "sys_cpu": 1, "read": part, "write": {"total_ios": 0, "iops": 0}}
        self.assertEqual(fiojson.figures({"jobs": [one(10), one(160)]})["job_spread"], 16)
        self.assertNotIn("job_spread", fiojson.figures({"jobs": [one(10)]}))


class Logs(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)

    def test_read(self):
        (self.dir / "job_iops.1.log").write_text(f"{START}, 5, 0, 0, 0\n{START}, 7, 1, 0, 0\n{START + 1000}, 9, 0, 0, 0\n")
        for n in range(2, 11):
            (self.dir / f"job_iops.{n}.log").write_text(f"{START}, {n}, 0, 0, 0\n")
        found = samples.load(self.dir, "job", 1000)
        self.assertEqual(found[0], [(START - 1000, START, 12), (START, START + 1000, 9)])
        self.assertEqual([j[0][2] for j in found[1:]], list(range(2, 11)))

    def test_none(self):
        self.assertEqual(samples.load(self.dir, "job", 1000), [])

    def test_bad(self):
        for text, word in (("", "empty"), ("1000, 5, 0, 0\n", "log_unix_epoch"), ("what\n", "not a line")):
            (self.dir / "job_iops.1.log").write_text(text)
            with self.assertRaisesRegex(RunFailed, word):
                samples.load(self.dir, "job", 1000)


if __name__ == "__main__":
    unittest.main()
