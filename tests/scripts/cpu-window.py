#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""CPU is taken from the steady part of a run; the sampler sees real threads."""

import os
import signal
import subprocess
import sys
import time
import unittest

import fakes  # noqa: F401
from dataplane_lib.host import cpu


def samples(rate):
    """One thread sampled every 0.1 s for 3 s; RATE(t) is CPU s/s, all user before 1 s."""
    out, used = [], 0.0
    for i in range(31):
        t = i / 10
        out.append({"t": t, "threads": {"7": ["iothread0", int(used * 1e9), used * 0.75, used * 0.25]}})
        used += 0.1 * rate(t + 0.05)
    return out


class Window(unittest.TestCase):
    def test_start_and_end_do_not_count(self):
        taken = samples(lambda t: 0.4 if 1 < t < 2.6 else 1.0)
        found = cpu.window(taken, *cpu.steady(2.6, 1.5))
        self.assertAlmostEqual(found["iothread0"]["user"], 30, delta=0.01)
        self.assertAlmostEqual(found["iothread0"]["system"], 10, delta=0.01)

    def test_switches(self):
        """Counted per second in the steady part, of threads that ended in it as well."""
        taken = samples(lambda t: 0.5)
        for i, sample in enumerate(taken):
            for thread in sample["threads"].values():
                thread += [20 * i, i]
            if i < 20:
                sample["threads"]["8"] = ["worker0.0", 0, 0, 0, 10 * i, 0]
        found = cpu.window(taken, 1.0, 2.5)
        self.assertAlmostEqual(found["iothread0"]["voluntary"], 200, delta=0.01)
        self.assertAlmostEqual(found["iothread0"]["involuntary"], 10, delta=0.01)
        self.assertAlmostEqual(found["worker0.0"]["voluntary"], 90 / 1.5, delta=0.01)

    def test_starved_sampler(self):
        """Where nothing was sampled in the first half, the sample before it counts; without one, nothing does."""
        taken = samples(lambda t: 0.5)
        late = [s for s in taken if s["t"] <= 0.95 or s["t"] >= 2.0]
        found = cpu.window(late, 1.0, 2.5)
        self.assertAlmostEqual(found["iothread0"]["user"] + found["iothread0"]["system"], 50, delta=0.01)
        self.assertIsNone(cpu.window([s for s in late if s["t"] >= 2.0], 1.0, 2.5))

    def test_late_thread_counts_from_zero(self):
        taken = samples(lambda t: 0.5)
        for sample in taken[:15]:
            sample["threads"] = {}
        self.assertIsNotNone(cpu.window(taken, 1.0, 2.5)["iothread0"])

    def test_too_few_samples(self):
        self.assertIsNone(cpu.window(samples(lambda t: 1.0)[:12], 1.0, 2.5))
        self.assertIsNone(cpu.window([], 0, 1))

    def test_busy_cpu(self):
        """Whoever it was: 60 % busy in the window, idle before."""
        taken = samples(lambda t: 0.1)
        for i, sample in enumerate(taken):
            work = max(0, i - 10) * 6
            sample["cpus"] = {"3": [work, 0, 0, 10 * i - work, 0, 0, 0, 0]}
        self.assertAlmostEqual(cpu.busy(taken, 1.0, 2.5)[3], 60, delta=0.1)
        self.assertEqual(cpu.busy(samples(lambda t: 0.1), 1.0, 2.5), {})

    def test_real_process(self):
        """What is said of a process is what the kernel counted for it, however much of a CPU it got; one that sleeps uses none."""
        for code, works in (("print(flush=True)\nwhile True: pass", True), ("import time; print(flush=True); time.sleep(300)", False)):
            proc = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
            try:
                sampler = cpu.Sampler(proc.pid)
                proc.stdout.readline()
                before = self.used_s(proc.pid)
                for _ in range(8):
                    sampler.sample()
                    time.sleep(0.05)
                sampler.sample()
                after = self.used_s(proc.pid)
                first, last = sampler.samples[0]["t"], sampler.samples[-1]["t"]
                found = cpu.window(sampler.samples, first, last)
                total = sum(t["user"] + t["system"] for t in found.values()) / 100 * (last - first)
                # The samples lie inside of what was counted here.
                self.assertLessEqual(total, after - before + 0.001, code)
                if not works:
                    self.assertLess(total, 0.05)
            finally:
                proc.kill()
                proc.communicate()

    def test_burnt_time_shows(self):
        """A process that got so much CPU time between two samples shows that much."""
        proc = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            sampler = cpu.Sampler(proc.pid)
            before = self.used_s(proc.pid)
            sampler.sample()
            self.until(lambda: self.used_s(proc.pid) > before + 0.5)
            sampler.sample()
            first, last = (s["t"] for s in sampler.samples)
            found = cpu.window(sampler.samples, first, last)
            self.assertGreater(sum(t["user"] + t["system"] for t in found.values()) / 100 * (last - first), 0.3)
        finally:
            proc.kill()
            proc.wait()

    def until(self, true):
        limit = time.monotonic() + 60
        while not true():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.02)

    @staticmethod
    def used_s(pid):
        """CPU time of PID's only thread in s, as the kernel counts it."""
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def test_children(self):
        """What a child of a child does counts; so does that it sleeps."""
        code = "import os, time\nif os.fork() == 0:\n  if os.fork() == 0:\n    while True: time.sleep(0.001)\n  time.sleep(300)\ntime.sleep(300)"
        proc = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        try:
            self.until(lambda: len(cpu.family(proc.pid)) == 3)
            sampler = cpu.Sampler(proc.pid)
            sampler.sample()

            def switched():
                sampler.sample()
                ends = sampler.samples[0]["threads"], sampler.samples[-1]["threads"]
                return sum(t[4] for t in ends[1].values()) - sum(t[4] for t in ends[0].values()) > 20
            self.until(switched)
            first, last = sampler.samples[0]["t"], sampler.samples[-1]["t"]
            found = cpu.window(sampler.samples, first, last)
            self.assertGreater(sum(t["voluntary"] for t in found.values()) * (last - first), 20)
        finally:
            os.killpg(proc.pid, signal.SIGKILL)
            proc.wait()

    def test_process_gone(self):
        proc = subprocess.Popen(["true"])
        proc.wait()
        sampler = cpu.Sampler(proc.pid)
        sampler.sample()
        self.assertEqual(sampler.samples, [])


if __name__ == "__main__":
    unittest.main()
