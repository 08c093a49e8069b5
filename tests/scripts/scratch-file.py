#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""$file holds data in every byte, is kept while runs only read it, and is made anew after one that wrote to it."""

import os
import tempfile
import unittest
from unittest import mock

import fakes  # noqa: F401 (puts scripts/ on the path)
from dataplane_lib.errors import Refused
from dataplane_lib.model import studyfile
from dataplane_lib.run.scratch import Scratch

SIZE = (3 << 20) + 512


class File(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.tmp = tmp.name
        patch = mock.patch.object(tempfile, "tempdir", self.tmp)
        patch.start()
        self.addCleanup(patch.stop)

    def scratch(self, holes=False):
        made = Scratch(SIZE, holes)
        self.addCleanup(made.close)
        return made

    def test_holds_data(self):
        path = self.scratch().ready()
        with open(path, "rb") as file:
            data = file.read()
        self.assertEqual(len(data), SIZE)
        self.assertTrue(all(any(data[at:at + 512]) for at in range(0, SIZE, 512)))
        handle = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, handle)
        self.assertEqual(os.lseek(handle, 0, os.SEEK_HOLE), SIZE)

    def test_holes_by_a_word(self):
        path = self.scratch(holes=True).ready()
        self.assertEqual((os.stat(path).st_size, os.stat(path).st_blocks), (SIZE, 0))
        self.assertEqual(studyfile.file_size("3m", "--file"), (3 << 20, True))
        self.assertEqual(studyfile.file_size("3m,holes", "--file"), (3 << 20, False))
        with self.assertRaisesRegex(Refused, "--file=3m,hole: expected a size, such as 256m, or SIZE,holes"):
            studyfile.file_size("3m,hole", "--file")

    def test_kept_while_it_is_read(self):
        made = self.scratch()
        path = made.ready()
        first = os.stat(path).st_ino
        with open(path, "rb") as file:
            file.read()
        self.assertEqual((made.ready(), os.stat(path).st_ino), (path, first))

    def test_made_anew_after_a_write(self):
        """However little was written, and a hole that was punched fills again."""
        made = self.scratch()
        path = made.ready()

        def punch():
            os.truncate(path, 0)
            os.truncate(path, SIZE)

        def write():
            with open(path, "r+b") as file:
                file.write(b"\0")
        for change in (write, punch, lambda: os.unlink(path), lambda: os.truncate(path, SIZE + 1)):
            change()
            self.assertEqual(made.ready(), path)
            with open(path, "rb") as file:
                data = file.read()
            self.assertEqual(len(data), SIZE)
            self.assertTrue(any(data[:1 << 20]) and any(data[-512:]))
            self.assertEqual(os.stat(path).st_mtime_ns, 0)

    def test_nothing_stays(self):
        made = self.scratch()
        made.ready()
        made.close()
        self.assertEqual(os.listdir(self.tmp), [])


if __name__ == "__main__":
    unittest.main()
