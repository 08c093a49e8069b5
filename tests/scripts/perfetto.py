#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""trace --perfetto writes what the Trace Event Format asks for: a named track a thread, slices that nest, and of each request one arrow from its first event to its last."""

import json
import subprocess
import unittest
from collections import defaultdict

from made_up_trace import SRC, both, clean_up, engine, place, target, tf, write
from dataplane_lib.trace import perfetto, requests, show

# Of each phase, the keys that the format asks for beside ph, pid and tid.
PHASES = {"M": {"name", "args"}, "X": {"name", "cat", "ts", "dur"}, "s": {"name", "cat", "ts", "id"}, "t": {"name", "cat", "ts", "id"}, "f": {"name", "cat", "ts", "id"}}


def files(starts):
    io, work = both([target(*s) for s in starts])
    return (write("engine", "dataplane-x", [("job", tf.JOB, sum((engine(*s) for s in starts), []))]),
            write("target", "vhost-user-blk-target", [("iothread0", tf.IOTHREAD, io), ("worker0.0", tf.WORKER, work)]))


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The third takes longest; some are in flight together.
        starts = [(10_000_000 + 400 * n, n % 5, 4096 * n) for n in range(60)]
        out = str(place / "out.json")
        done = subprocess.run([str(SRC / "scripts/dataplane"), "trace", *files(starts), "--perfetto", out], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and f"{out}: 60 requests of 60" in done.stderr, done.stderr
        cls.trace = json.loads((place / "out.json").read_text())
        cls.events = cls.trace["traceEvents"]

    @classmethod
    def tearDownClass(cls):
        clean_up()

    def of(self, phases):
        return [e for e in self.events if e["ph"] in phases]

    def tracks(self):
        out = defaultdict(list)
        for event in self.of("X"):
            out[event["pid"], event["tid"]].append(event)
        return out

    def test_every_event_is_one_of_the_format(self):
        self.assertIn(self.trace["displayTimeUnit"], ("ms", "ns"))
        for event in self.events:
            self.assertLessEqual(PHASES[event["ph"]] | {"pid", "tid"}, set(event), event)
            for key in ("ts", "dur"):
                self.assertGreaterEqual(event.get(key, 0), 0, event)
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)

    def test_each_thread_is_a_track_with_a_name(self):
        names = {e["args"]["name"] for e in self.of("M") if e["name"] == "thread_name"}
        self.assertEqual(names, {"job", "iothread0", "worker0.0"})
        self.assertEqual({e["args"]["name"] for e in self.of("M") if e["name"] == "process_name"}, {"dataplane-x", "vhost-user-blk-target"})
        named = {(e["pid"], e["tid"]) for e in self.of("M")}
        self.assertLessEqual({(e["pid"], e["tid"]) for e in self.of("Xstf")}, named)

    def test_slices_of_a_track_do_not_cross(self):
        self.assertEqual(len(self.tracks()), 3)
        for slices in self.tracks().values():
            slices = sorted(slices, key=lambda e: (e["ts"], -e["dur"]))
            for one, two in zip(slices, slices[1:]):
                ends = [round(1000 * (e["ts"] + e["dur"])) for e in (one, two)]
                self.assertTrue(ends[0] <= round(1000 * two["ts"]) or ends[1] <= ends[0], (one, two))

    def test_each_request_is_an_arrow_from_its_first_event_to_its_last(self):
        flows = defaultdict(list)
        for event in self.of("stf"):
            flows[event["id"]].append(event)
        self.assertEqual(len(flows), 60)
        slices = {(e["pid"], e["tid"], e["ts"], e["name"]) for e in self.of("X")}
        at = {(pid, tid, ts) for pid, tid, ts, _ in slices}
        for steps in flows.values():
            phases = "".join(e["ph"] for e in steps)
            self.assertRegex(phases, "^st+f$")
            self.assertEqual([e["ts"] for e in steps], sorted(e["ts"] for e in steps))
            self.assertEqual(steps[-1].get("bp"), "e")
            self.assertEqual(len({(e["pid"], e["tid"]) for e in steps}), 3)
            for step in steps:
                self.assertIn((step["pid"], step["tid"], step["ts"]), at)

    def test_a_worker_works_as_long_as_it_did(self):
        work = [e for e in self.of("X") if e["name"] == "worker begins"]
        self.assertEqual(len(work), 60)
        self.assertEqual({round(1000 * e["dur"]) for e in work}, {200})
        self.assertEqual(work[3]["args"], {"queue": 0, "name": 3, "kind": "read", "offset": 3 * 4096, "bytes": 4096})

    def test_of_many_those_around_the_slowest_are_written(self):
        was, perfetto.MOST = perfetto.MOST, 10
        self.addCleanup(setattr, perfetto, "MOST", was)
        found = requests.load([str(place / "engine"), str(place / "target")])
        shown, _ = show.of_interest(found)
        shown.times[shown.offset == 40 * 4096, tf.RETURN] += 50_000
        text, number = perfetto.text(found, shown)
        self.assertEqual(number, 10)
        offsets = {e["args"]["offset"] for e in json.loads(text)["traceEvents"] if e["ph"] == "X" and e["name"] == "queued"}
        self.assertIn(40 * 4096, offsets)

    def test_a_file_that_cannot_be_written_is_refused(self):
        done = subprocess.run([str(SRC / "scripts/dataplane"), "trace", str(place / "engine"), "--perfetto", str(place / "no" / "out.json")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--perfetto", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
