#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is made of fio's JSON, against sums done by hand: grouped jobs, mixed directions, jobs of other lengths, no figures."""

import json
import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401: finds dataplane_lib
import made_up
from dataplane_lib.model import metrics
from dataplane_lib.read import cpu_series, digest, figures, fiojson, store
from dataplane_lib.errors import Refused, RunFailed


def part(rate, ms, bins):
    count = sum(bins.values())
    return {"total_ios": count, "iops": rate, "bw_bytes": 4096 * rate, "drop_ios": 0, "runtime": ms,
            "lat_ns": {"N": count, "mean": sum(k * v for k, v in bins.items()) / count, "bins": {str(k): v for k, v in bins.items()}}}


def job(name, ms, user, system, **directions):
    none = {"total_ios": 0, "iops": 0, "bw_bytes": 0, "drop_ios": 0, "runtime": 0, "lat_ns": {"N": 0}}
    every = directions if "mixed" in directions else {"read": none, "write": none, "trim": none, **directions}
    return {"jobname": name, "error": 0, "job_runtime": ms, "usr_cpu": user, "sys_cpu": system, **every}


class Figures(unittest.TestCase):
    def test_jobs_apart_and_grouped(self):
        """Two jobs of 2 s with 30 and 10 % user: grouped, fio tells one of 4 s with the mean, 20 %."""
        a, b = {1000: 600, 3000: 400}, {1000: 500, 9000: 500}
        apart = {"jobs": [job("a", 2000, 30, 8, read=part(500, 2000, a)), job("a", 2000, 10, 2, read=part(500, 2000, b))]}
        both = {"jobs": [job("a", 4000, 20, 5, read=part(1000, 2000, {1000: 1100, 3000: 400, 9000: 500}))]}
        one, other = fiojson.figures(apart), fiojson.figures(both)
        for key, value in {"iops": 1000, "fio_user": 40, "fio_system": 10, "fio_us_per_io": 500, "lat_mean_us": 3.4,
                           "lat_p50_us": 1 + 0.008 * 1000 / 1100, "lat_p99_us": 8.96 + 0.128 * 0.96}.items():
            self.assertAlmostEqual(one[key], value, msg=key)
            self.assertAlmostEqual(other[key], value, msg=f"{key}, grouped")
        self.assertEqual((fiojson.runtime_ms(apart), fiojson.runtime_ms(both)), (2000, 2000))

    def test_reads_and_writes_apart(self):
        """Each direction has its own rate and latency, a direction without I/O none; any percentile is a metric."""
        reads, writes = {100: 300}, {50: 50, 120: 50}
        found = fiojson.figures({"jobs": [job("a", 1000, 1, 1, read=part(300, 1000, reads), write=part(100, 1000, writes))]})
        for key, value in {"iops": 400, "iops_read": 300, "iops_write": 100, "bw_write_mib": 4096 * 100 / (1 << 20), "lat_read_mean_us": 0.1, "lat_write_mean_us": 0.085,
                           "lat_read_p99_us": 0.1, "lat_write_p50_us": 0.05, "lat_write_p90_us": 0.12, "lat_p95_us": 0.12}.items():
            self.assertAlmostEqual(found[key], value, msg=key)
        alone = fiojson.figures({"jobs": [job("a", 1000, 1, 1, read=part(300, 1000, reads))]})
        self.assertEqual({k for k in alone if "_write_" in k or k == "iops_write"}, set())
        metrics.check("lat_write_p12.5_us", "--primary")
        self.assertAlmostEqual(fiojson.figures({"jobs": [job("a", 1000, 1, 1, write=part(100, 1000, writes))]})["lat_write_p12.5_us"], 0.05)
        for key in ("lat_p100_us", "lat_p0_us", "lat_trim_p99_us", "lat_p99"):
            with self.assertRaisesRegex(Refused, "unknown metric"):
                metrics.check(key, "--primary")

    def test_unified(self):
        """unified_rw_reporting=mixed has but one direction, =both has the sum beside the others."""
        bins = {1000: 10, 2000: 30}
        mixed = {"jobs": [job("a", 1000, 1, 1, mixed=part(40, 1000, bins))]}
        fiojson.check(mixed)
        self.assertEqual(fiojson.figures(mixed)["iops"], 40)
        both = job("a", 1000, 1, 1, read=part(20, 1000, {1000: 20}), write=part(20, 1000, {2000: 20}))
        both["mixed"] = part(40, 1000, bins)
        self.assertEqual(fiojson.figures({"jobs": [both]})["iops"], 40)
        self.assertEqual(fiojson.total_ios({"jobs": [both]}), 40)

    def test_no_figures(self):
        """Latencies that were not taken, rates that are none: a sentence, never a figure."""
        untimed = job("a", 1000, 1, 1, read=part(20, 1000, {1000: 20}))
        untimed["read"]["lat_ns"] = {"N": 0, "mean": 0.0}
        with self.assertRaisesRegex(RunFailed, "job a: read has no latency bins"):
            fiojson.figures({"jobs": [untimed]})
        for rate in (0.0, float("nan"), float("inf")):
            with self.assertRaisesRegex(RunFailed, "fio measured .* IOPS"):
                fiojson.figures({"jobs": [job("a", 1000, 1, 1, read=part(rate, 1000, {1000: 20}))]})

    def test_one_bad_job_of_many(self):
        good = [job(f"j{n}", 1000, 1, 1, read=part(20, 1000, {1000: 20})) for n in range(8)]
        fiojson.check({"jobs": good})
        with self.assertRaisesRegex(RunFailed, "job bad: error is 5"):
            fiojson.check({"jobs": [*good, {**good[0], "jobname": "bad", "error": 5}]})
        with self.assertRaisesRegex(RunFailed, "job idle: did no I/O"):
            fiojson.check({"jobs": [*good, job("idle", 1000, 0, 0)]})


class Apart(unittest.TestCase):
    """Two jobs, 24k IOPS each: what both did over the time in which any worked."""

    def of(self, spans, lengths):
        doc = {"timestamp_ms": 10 ** 6, "jobs": [job(f"j{n}", ms, 10, 10, read=part(24000, ms, {1000: 24 * ms})) for n, ms in enumerate(lengths)]}
        facts = {"fio": doc, "fio_jobs": spans, "iops_log": []}
        return figures.of_run(facts, {})[0]

    def test_one_after_another(self):
        """24k, and never 48.4k."""
        found = self.of([[0.0, 0.6], [1.0, 1.6]], [500, 500])
        self.assertAlmostEqual(found["iops"], 24000)
        self.assertAlmostEqual(found["at_once"], 1)
        self.assertAlmostEqual(found["fio_us_per_io"], 0.2 * 1e6 / 24000)

    def test_one_second_beside_four(self):
        found = self.of([[0.0, 4.0], [0.0, 1.0]], [1000, 4000])
        self.assertAlmostEqual(found["iops"], 24000 * 5 / 4)
        # What fio used is spread over the same time.
        self.assertAlmostEqual(found["fio_us_per_io"], 0.2 * 1e6 / 24000)

    def test_side_by_side(self):
        """What they differ by at start and end is not counted."""
        found = self.of([[0.0, 2.0], [0.02, 2.01]], [1980, 2000])
        self.assertEqual((found["iops"], found["at_once"]), (48000, None))

    def test_cpu_of_the_target(self):
        """One second beside four, 2 us an I/O: 4.8 % + 4.8 %, then 4.8 %."""
        samples, used = [], 0.0
        for n in range(41):
            samples.append({"t": n / 10, "threads": {"1": ["iothread0", round(used * 1e9), used, 0.0]}})
            used += 0.1 * 2e-6 * (48000 if n < 10 else 24000)
        doc = {"timestamp_ms": 4000, "jobs": [job(f"j{n}", ms, 10, 10, read=part(24000, ms, {1000: 24 * ms})) for n, ms in enumerate((1000, 4000))]}
        facts = {"fio": doc, "fio_jobs": [[0.0, 4.0], [0.0, 1.0]], "iops_log": [], "target": "t", "clock_offset_s": 0.0, "target_stats": None,
                 "engine_stats": [], "cpu": cpu_series.packed(samples)}
        self.assertAlmostEqual(figures.of_run(facts, {"pinned": False})[0]["target_us_per_io"], 2.0, delta=0.1)

    def test_grouped_jobs_have_no_spread(self):
        """Three of one group in one entry, one in another: 3 x is no difference between jobs."""
        doc = {"jobs": [job("a", 6000, 10, 10, read=part(72000, 2000, {1000: 144000})), job("b", 2000, 10, 10, read=part(24000, 2000, {1000: 48000}))]}
        self.assertNotIn("job_spread", fiojson.figures(doc))


class Told(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.out = Path(tmp.name) / "r"

    def warnings(self, change=lambda doc, record: None, **more):
        made_up.write(self.out, made_up.arms({"x": "1"}, {"x": "2"}), lambda i: 50, **more)
        for directory in (self.out / "raw").iterdir():
            doc, record = (json.loads((directory / name).read_text()) for name in ("fio.json", "run.json"))
            change(doc, record)
            (directory / "fio.json").write_text(json.dumps(doc))
            (directory / "run.json").write_text(json.dumps(record))
        return "\n".join(digest.digest(store.load(self.out))["warnings"])

    def test_jobs_of_other_lengths(self):
        def change(doc, _record):
            doc["jobs"][1]["job_runtime"] = 500
        self.assertIn("In 6 of 6 runs the jobs did not measure equally long (0.5 s against 2 s)", self.warnings(change, jobs=2))

    def test_cut_short(self):
        def change(_doc, record):
            record["runtime_s"] = 3.0
        self.assertIn("In 6 of 6 runs fio measured for less than the 3 s asked for, down to 2 s", self.warnings(change))

    def test_few_ios(self):
        """3 runs of 20000 I/Os leave 6 beyond p99.99; of 1000, 3 beyond p99.9."""
        self.assertIn("fewer than 10 samples above them: p99.99 in 2 of 2 arms.", self.warnings())

    def test_very_few_ios(self):
        self.assertIn("fewer than 10 samples above them: p99.9 in 2 of 2 arms, p99.99 in 2 of 2 arms.", self.warnings(ios=1000))

    def test_limited_rate(self):
        text = "job.fio limits its own rate (rate=, rate_iops=): IOPS is the same in all arms that keep up"
        self.assertNotIn("limits", self.warnings())
        with open(self.out / "job.fio", "a", encoding="utf-8") as job:
            job.write("rate_iops=1000\n")
        self.assertIn(text, "\n".join(digest.digest(store.load(self.out))["warnings"]))
        with open(self.out / "job.fio", "a", encoding="utf-8") as job:
            job.write("[free]\n")
        self.assertNotIn("limits", "\n".join(digest.digest(store.load(self.out))["warnings"]))

    def test_nothing_to_say(self):
        text = self.warnings(ios=100000, jobs=2)
        for word in ("samples above them", "equally long", "asked for"):
            self.assertNotIn(word, text)

    def test_a_run_in_the_place_of_another(self):
        """As many runs as the study has, but not of each arm."""
        def change(_doc, record):
            if (record["arm"], record["repeat"]) == ("x=2", 3):
                record["arm"] = "x=1"
        with self.assertRaisesRegex(Refused, "4 runs of x=1 are there, the study has 3"):
            self.warnings(change)


if __name__ == "__main__":
    unittest.main()
