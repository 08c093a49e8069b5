# SPDX-License-Identifier: GPL-2.0-only
"""Writes the archive a kernel unpacks at boot (cpio, the format called newc).

The format is described in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
Several archives one after the other are as good as one.
"""

import stat

_ALIGN = 4
_TRAILER = "TRAILER!!!"


class Archive:
    """Entries are written to FILE, which is open for binary writing, as they are added."""

    def __init__(self, file):
        self._file = file
        self._number = 0
        self._directories = set()

    def directory(self, path):
        """Add directory PATH (no leading slash) and those above it, unless they are there."""
        if path and path not in self._directories:
            self.directory(path.rpartition("/")[0])
            self._directories.add(path)
            self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, path, data, mode=0o644):
        """Add a file with DATA, and its directories."""
        self.directory(path.rpartition("/")[0])
        self._entry(path, stat.S_IFREG | mode, data)

    def character_device(self, path, major, minor):
        """Add a device node, which takes no privilege in an archive."""
        self.directory(path.rpartition("/")[0])
        self._entry(path, stat.S_IFCHR | 0o600, device=(major, minor))

    def close(self):
        """End the archive; FILE stays open."""
        self._entry(_TRAILER, 0)

    def _entry(self, path, mode, data=b"", device=(0, 0)):
        self._number += 1
        name = path.encode() + b"\0"
        numbers = (self._number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
        self._padded(b"070701" + b"".join(b"%08x" % n for n in numbers) + name)
        self._padded(data)

    def _padded(self, data):
        self._file.write(data)
        self._file.write(bytes(-len(data) % _ALIGN))
