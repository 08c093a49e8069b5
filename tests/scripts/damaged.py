#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A result that is damaged, cut or no file at all: one line that names the file, and never a traceback or a wait."""

import json
import lzma
import os
import random
import shutil
import tempfile
import unittest
from pathlib import Path

import fakes  # noqa: F401: finds dataplane_lib
import made_up
from dataplane_lib.read import digest, store
from dataplane_lib.trace import records
from dataplane_lib.errors import Refused

# What stands in the place of a value.
_OTHERS = (None, "x", -1, [], {}, [[]], {"a": 1}, 1e308, True)


def broken(value, rng):
    """VALUE, a JSON document, with one value in it, somewhere, replaced or gone."""
    value = json.loads(json.dumps(value))
    here = value
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = rng.choice(keys)
        if isinstance(here[key], (dict, list)) and here[key] and rng.random() < 0.8:
            here = here[key]
            continue
        if rng.random() < 0.3:
            del here[key]
        else:
            here[key] = rng.choice(_OTHERS)
        return value


class Damaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(tmp.cleanup)
        cls.dir = Path(tmp.name)
        cls.raw = made_up.write(cls.dir / "raw-one", made_up.arms({"x": "1"}, {"x": "2"}), lambda i: 50, runs=1, cpu=lambda i: 40, logs="hist", ios=2000)
        store.write(store.load(cls.raw))
        cls.lines = lzma.open(cls.raw / store.FILE, "rt").read().splitlines()
        cls.place = cls.dir / "one"
        cls.place.mkdir()

    def looked_at(self, what, place=None):
        """Everything that a command reads of the result; only a refusal in one line is allowed."""
        place = place or self.place
        try:
            result = store.load(place)
            digest.digest(result)
            for run in result.runs:
                run.latency_log()
        except Refused as err:
            self.assertEqual(str(err).count("\n"), 0, what)
            self.assertIn(str(place), str(err), what)

    def write(self, lines):
        (self.place / store.FILE).write_bytes(lzma.compress("\n".join(lines).encode(), preset=0))

    def test_one_value(self):
        """Three hundred results of which one value is wrong or gone."""
        rng = random.Random(1)
        for n in range(300):
            which = n % len(self.lines)
            lines = list(self.lines)
            lines[which] = json.dumps(broken(json.loads(lines[which]), rng))
            self.write(lines)
            self.looked_at((n, lines[which][:200]))

    def test_cut(self):
        whole = (self.raw / store.FILE).read_bytes()
        for length in (0, 1, 5, 30, len(whole) // 2, len(whole) - 1):
            (self.place / store.FILE).write_bytes(whole[:length])
            with self.assertRaisesRegex(Refused, f"^{self.place}/{store.FILE}: "):
                store.load(self.place)

    def test_no_file(self):
        """Nobody writes to the FIFO."""
        (self.place / store.FILE).unlink(missing_ok=True)
        os.mkfifo(self.place / store.FILE)
        with self.assertRaisesRegex(Refused, f"^{self.place}/{store.FILE}: not a file"):
            store.load(self.place)
        (self.place / store.FILE).unlink()

    def test_traces(self):
        """A FIFO, nothing, noise behind a good start, and a part that claims to be longer than the file."""
        path = self.dir / "x.trace"
        os.mkfifo(path)
        with self.assertRaisesRegex(Refused, "not a file"):
            records.load(path)
        path.unlink()
        rng = random.Random(3)
        head = records._HEADER.pack(records.MAGIC, records.VERSION, records.PAGE, records.RECORD.itemsize, 0, 1, 0, 0, b"p", b"h", b"b")
        for room in (1, 8, 1 << 31):
            part = records._THREAD.pack(b"t", records.JOB, 1, room)
            for n in range(20):
                path.write_bytes(head.ljust(records.PAGE, b"\0") + part + rng.randbytes(rng.randrange(3 * records.PAGE)))
                try:
                    records.load(path)
                except Refused as err:
                    self.assertIn(str(path), str(err))

    def test_versions(self):
        for change, word in (({"version": 2}, "version 2 of the format, this dataplane reads 1"), ({"schema": "x"}, "does not name the schema")):
            self.write([json.dumps({**json.loads(self.lines[0]), **change}), *self.lines[1:]])
            with self.assertRaisesRegex(Refused, word):
                store.load(self.place)

    def test_raw_files(self):
        """Those of an old result, or of one with --keep-raw: each of them with a wrong value, cut, and as a FIFO."""
        rng = random.Random(2)
        (self.raw / store.FILE).unlink(missing_ok=True)
        for path in sorted([self.raw / "meta.json", *next((self.raw / "raw").iterdir()).glob("*")]):
            whole = path.read_bytes()
            for n in range(12):
                if path.suffix == ".json":
                    path.write_text(json.dumps(broken(json.loads(whole), rng)))
                    self.looked_at((path.name, n), self.raw)
                path.write_bytes(whole[:rng.randrange(len(whole))])
                self.looked_at((path.name, "cut"), self.raw)
            path.unlink()
            os.mkfifo(path)
            with self.assertRaisesRegex(Refused, "not a file"):
                store.load(self.raw)
            path.unlink()
            path.write_bytes(whole)
        shutil.copy(self.raw / "job.fio", self.place)


if __name__ == "__main__":
    unittest.main()
