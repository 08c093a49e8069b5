#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Advice on poll policies: waits are read as the target wrote them, the policies' own code runs over them, and IOPS and CPU follow."""

import os
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from dataplane_lib.errors import NotMeasured  # noqa: E402
from dataplane_lib.judge import advise  # noqa: E402
from dataplane_lib.run.replay import Outcome, replay  # noqa: E402

# Half the waits are for a device of 50 us, half for a driver that takes 2 us.
COUNTS = {(0, 1500, 2000): 1000, (1, 50000, 52000): 1000}


def run(policy, idle, in_flight, iops=10000.0, cpu_us=20.0, max_ns=32768):
    stats = {"options": {"poll": policy, "poll-max-ns": str(max_ns)},
             "iothreads": [{"waits_ns": {"idle": idle, "in_flight": in_flight}, "requests": {"read": 1000}}]}
    return SimpleNamespace(arm="arm", facts={"target_stats": stats}, metrics={"iops": iops, "target_us_per_io": cpu_us})


class Waits(unittest.TestCase):
    def test_buckets(self):
        """As base/hist.h has them: 16 an octave, one a value below 32."""
        self.assertEqual([advise.bucket_end(v) for v in (0, 31, 32, 62, 64, 49152)], [1, 32, 34, 64, 68, 51200])

    def test_wakeup_is_no_wait(self):
        """A thread that slept saw the work late by a wake-up; one that polled did not."""
        slept = advise.recorded([run("off", [[8192, 1000]], [[57344, 1000]])], 6000)
        self.assertEqual(sorted(slept.counts), [(0, 2192, 2704), (1, 51344, 53392)])
        polled = advise.recorded([run("fixed", [[2048, 1000]], [[57344, 1000]], max_ns=100000)], 6000)
        self.assertEqual(sorted(polled.counts), [(0, 2048, 2176), (1, 57344, 59392)])
        self.assertEqual(polled.per, 2.0)
        self.assertAlmostEqual(polled.share(1), 0.5)

    def test_none_recorded(self):
        with self.assertRaisesRegex(NotMeasured, "policy busy reads no clock"):
            advise.recorded([run("busy", [], [])], 6000)


class Plans(unittest.TestCase):
    def test_what_follows(self):
        """Ten thousand I/Os a second with two wake-ups of 5 us each are 11111 without; CPU is what is polled instead."""
        waits = advise.Waits(COUNTS, 2.0, 10000.0, 12000.0, "off", 0)
        outcomes = {"off": Outcome(0, 0, 1, 0), "fixed": Outcome(1, 0, 0, 26000)}
        off, fixed = advise.plans(waits, lambda these: [outcomes[name] for name, _ in these], 5000, [("off", 1), ("fixed", 65536)])
        self.assertAlmostEqual(off.iops, 10000)
        self.assertAlmostEqual(off.cpu, 12000)
        self.assertAlmostEqual(fixed.iops, 1e9 / 90000)
        self.assertAlmostEqual(fixed.cpu, 12000 + 2 * (26000 - 0.5 * 5000))

    def test_least_cpu_among_the_fastest(self):
        plans = [advise.Plan("off", 1, 0, 5000, 10000), advise.Plan("busy", 1, 1, 10000, 100000), advise.Plan("hybrid", 65536, 1, 9900, 30000),
                 advise.Plan("fixed", 65536, 1, 10000, 60000)]
        self.assertEqual(advise.best(plans).policy, "hybrid")


@unittest.skipUnless((Path(os.environ.get("FIO_DATAPLANE", "build")) / "tools/poll-replay").exists(), "poll-replay is not built")
class Replay(unittest.TestCase):
    def test_policies(self):
        names = [("off", 1), ("busy", 1), ("fixed", 16384), ("fixed", 65536), ("adaptive", 65536), ("inflight", 1), ("hybrid", 65536)]
        off, busy, short, long, adaptive, inflight, hybrid = replay(COUNTS, names, 5000)
        self.assertEqual((off.covered, off.sleeps, off.polled), (0, 1, 0))
        self.assertEqual((busy.covered, busy.sleeps), (1, 0))
        self.assertAlmostEqual(short.covered, 0.5, delta=0.02)
        self.assertEqual(long.covered, 1)
        self.assertAlmostEqual(long.polled, 26375, delta=500)
        self.assertGreater(adaptive.covered, 0.98)
        self.assertAlmostEqual(inflight.covered, 0.5, delta=0.02)
        self.assertAlmostEqual(inflight.sleeps, 0.5, delta=0.02)
        self.assertGreater(hybrid.covered, 0.95)
        self.assertLess(hybrid.polled, 0.5 * long.polled)

    def test_bad_input(self):
        tool = Path(os.environ.get("FIO_DATAPLANE", "build")) / "tools/poll-replay"
        for argv, text in (([], "0 1 2 1\n"), (["rate:1"], "0 1 2 1\n"), (["off:x"], "0 1 2 1\n"), (["off:1"], "0 2 1 1\n"), (["off:1"], ""), (["off:1"], "2 1 2 1\n")):
            done = subprocess.run([tool, *argv], input=text, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, argv)
            self.assertEqual(Counter(done.stderr)["\n"], 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
