# SPDX-License-Identifier: GPL-2.0-only
"""The file that runs get as $file: full of data, kept for as long as a study's jobs only read it.

A hole is answered without reading by some servers, and not by others, so that a sparse file compares the wrong thing.
"""

import os
import shutil
import tempfile

from ..errors import RunFailed

# What a file is filled with is a repeated piece of so many random bytes.
_BLOCK = 1 << 20


class Scratch:
    """A file of SIZE bytes in a directory of its own under $TMPDIR; of HOLES only if so said."""

    def __init__(self, size, holes):
        self._size, self._holes = size, holes
        self._directory = None

    def ready(self):
        """The path of the file, as every run is to find it: made now, or anew where the run before has written to it."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="dataplane-file-")
        path = os.path.join(self._directory, "file")
        if not self._is_untouched(path):
            try:
                self._make(path)
            except OSError as err:
                raise RunFailed(f"{path}, {self._size} bytes: {err.strerror}; set TMPDIR to where there is room") from None
        return path

    def close(self):
        """Remove it."""
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _is_untouched(self, path):
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        # _make() dates it back to 1970, and whatever is written or punched sets the time of today.
        return found.st_size == self._size and found.st_mtime_ns == 0

    def _make(self, path):
        # A new file, so that blocks that were written last lie no other way than those of the first run.
        if os.path.exists(path):
            os.unlink(path)
        with open(path, "wb", buffering=0) as file:
            if not self._holes:
                block = os.urandom(_BLOCK)
                for at in range(0, self._size, _BLOCK):
                    piece = memoryview(block)[:self._size - at]
                    while piece:
                        piece = piece[file.write(piece):]
                # What is still to be written back would be so in the middle of a run.
                os.fdatasync(file.fileno())
            file.truncate(self._size)
            os.utime(file.fileno(), ns=(0, 0))
