#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What --client takes, what is sent, and what of fio's answer is a result."""

import json
import socket
import tempfile
import unittest
from pathlib import Path

import fakes
from dataplane_lib.model import jobfile
from dataplane_lib.read import fiojson
from dataplane_lib.run import client
from dataplane_lib.errors import Refused, RunFailed


class Words(unittest.TestCase):
    def test_servers(self):
        self.assertEqual(client.parse("a,b.c:8766,[::1]:9,[fe80::2],sock:/run/s,10.0.0.1"),
                         ["ip:a", "ip:b.c,8766", "ip6:::1,9", "ip6:fe80::2", "sock:/run/s", "ip:10.0.0.1"])
        for text in ("", "a,", "a b", "a:x", "sock:s", "::1", "--server"):
            with self.assertRaisesRegex(Refused, "expected HOST"):
                client.parse(text)
        with self.assertRaisesRegex(Refused, "twice"):
            client.parse("a:1,a:1")

    def test_nobody_there(self):
        """A server that does not answer is told before anything runs."""
        for name, told in (("ip:127.0.0.1,1", "at 127.0.0.1:1: "), ("sock:/nowhere/s", "at /nowhere/s: No such file")):
            with self.assertRaisesRegex(Refused, f"no fio server answers {told}"):
                client.reach([name])
        with socket.create_server(("127.0.0.1", 0)) as server:
            client.reach([f"ip:127.0.0.1,{server.getsockname()[1]}"])
        with self.assertRaisesRegex(Refused, "expected a port from 1 to 65535"):
            client.parse("a:99999")

    def test_what_is_sent(self):
        with tempfile.NamedTemporaryFile("w", suffix=".fio") as job:
            job.write("; said\n[global]\nuri=${uri}\nbs=${bs}\ndp_stats=${dp_stats}\ncpus_allowed=${fio_cpus}\n"
                      "write_iops_log=${iops_log}\nlog_avg_msec=${sample_ms}\nlog_unix_epoch=1\n[j]\n")
            job.flush()
            sent = client.rewritten(jobfile.load(Path(job.name)), {"uri": "nbd://h", "bs": "4k", "dp_stats": "/x", "fio_cpus": "0"})
        self.assertEqual(sent, "[global]\nuri=nbd://h\nbs=4k\n[j]\n")

    def test_every_server_must_answer(self):
        jobs = [{"jobname": "j", "hostname": h, "port": 8765} for h in ("a", "b")]
        doc = {"client_stats": [*jobs, {"jobname": "All clients", "hostname": "b", "port": 8765}]}
        client.check(doc, ["ip:a", "ip:b"])
        with self.assertRaisesRegex(RunFailed, "2 of 3 fio servers gave a result: a,8765, b,8765"):
            client.check(doc, ["ip:a", "ip:b", "ip:c"])
        for job in jobs:
            job["read"] = {"total_ios": 1}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(doc, file)
            file.flush()
            self.assertEqual([j["jobname"] for j in fiojson.load(Path(file.name))["jobs"]], ["a,8765: j", "b,8765: j"])

    def test_end_of_the_work(self):
        used, total, samples = [0, 0, 5, 60, 70, 65, 50, 3, 0], 0, []
        for second, share in enumerate(used):
            total += share
            samples.append({"t": float(second), "threads": {"1": ["t", total]}})
        self.assertEqual(client.ended(samples), 6.0)
        self.assertIsNone(client.ended(samples[:2]))
        self.assertIsNone(client.ended([]))

    def test_command_line(self):
        with tempfile.TemporaryDirectory() as tmp:
            env = fakes.install(tmp)
            for what in (("sweep", f"{tmp}/job.fio", "--vary", "poll=off"), ("ab", f"{tmp}/job.fio", "--a", "", "--b", "poll=off")):
                done = fakes.dataplane(*what, "--set", "bs=4k", "--client", "a b", env=env)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn("--client a b", done.stderr)


if __name__ == "__main__":
    unittest.main()
