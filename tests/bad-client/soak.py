#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 2700
"""Half an hour of hostile and good clients on one target of each kind: memory, descriptors and
threads end as they were after the first minute. SOAK_MINUTES says another time.
"""

import contextlib
import os
import time

import bench
import nbd_bench
import nbd_client as nbd
from vhost_user_client import Device

matrix = __import__("matrix")

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
# What an allocator keeps for later differs from round to round by less than this.
SLACK_KB = 4096
TOO_LARGE = (matrix.huge_reads, matrix.huge_zeroes, matrix.nbd_huge_zeroes, matrix.much_memory, matrix.many_lines)


class Soaked:
    """A target, and what its hostile clients do, in turn."""

    def __init__(self, kind, faults, target, good_client, connect):
        self.kind, self.connect = kind, connect
        self.faults = [f for f in faults if f[1] not in TOO_LARGE]
        self.target = target("--iothreads", "2", "--max-clients", "64")
        self.good = good_client(self.target.socket)
        self.good.start()
        self.rounds, self.first = 0, None

    def round(self):
        """Each fault once, beside the good client."""
        for _, act in self.faults:
            with contextlib.suppress(OSError, nbd.Dropped), contextlib.closing(self.connect(self.target.socket)) as bad:
                act(self.target, bad)
            if not self.target.running():
                raise AssertionError(f"{self.kind}: the target is gone after {act.__name__}")
        self.rounds += 1
        # Gone clients are closed aside.
        found = self.held()
        bench.wait_until(lambda: self.held()["descriptors"] <= (self.first or found)["descriptors"], 10)

    def held(self):
        """What the process has now."""
        with open(f"/proc/{self.target.process.pid}/status", encoding="utf-8") as f:
            told = dict(line.split(":", 1) for line in f)
        return {"descriptors": self.target.fds(), "threads": int(told["Threads"]), "KiB": int(told["VmRSS"].split()[0])}


class Soak(bench.unittest.TestCase):
    def test_flat(self):
        soaked = [Soaked("vhost-user-blk", matrix.VHOST_USER, bench.Target, bench.GoodClient, Device),
                  Soaked("nbd", matrix.NBD, nbd_bench.Target, nbd_bench.GoodClient, nbd.connect)]
        for each in soaked:
            self.addCleanup(each.target.close)
        end = time.monotonic() + 60 * MINUTES
        while time.monotonic() < end or min(each.rounds for each in soaked) < 4:
            for each in soaked:
                each.round()
                if each.rounds == 2:
                    each.first = each.held()
        for each in soaked:
            each.good.finish()
            now = each.held()
            print(f"{each.kind}: {each.rounds} rounds of {len(each.faults)} faults, {each.good.reads} good reads; {each.first} -> {now}")
            self.assertFalse(each.good.error)
            self.assertLessEqual(now["descriptors"], each.first["descriptors"])
            self.assertLessEqual(now["threads"], each.first["threads"])
            self.assertLessEqual(now["KiB"], each.first["KiB"] + SLACK_KB)
            self.assertEqual(each.target.stop(30), 0)


if __name__ == "__main__":
    if "CHECK_FULL" not in os.environ:
        print("SKIP: only make check-full soaks")
        raise SystemExit(77)
    bench.main()
