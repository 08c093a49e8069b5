# SPDX-License-Identifier: GPL-2.0-only
"""Short fio runs on a disk, a file, or somebody's vhost-user or NBD server, and on the target that is to behave like it."""

import os
import stat
import subprocess
import tempfile
from pathlib import Path

from .. import paths
from ..read import fiojson
from ..stats import device_fit
from . import process
from ..errors import Refused, RunFailed

# Blocks and depths, reads; with writes the second list is written as well.
READS = ((4096, 1), (4096, 4), (4096, 16), (4096, 64), (65536, 1), (65536, 16), (262144, 1), (262144, 8))
WRITES = ((4096, 1), (4096, 16), (65536, 1), (65536, 16))
_PATIENCE_S = 60
_SECTOR = 512


class Device:
    """What is at TEXT: a block device, a file, the socket of a vhost-user device or the URI of an NBD server."""

    def __init__(self, text):
        self.text, self.size, self.notes = text, 0, []
        if text.startswith(("nbd:", "nbd+", "nbds")):
            self.kind, self.arguments = "NBD server", [*_engine("nbd"), f"--uri={text}", "--wait_mode=poll"]
            return
        try:
            found = os.stat(text)
        except OSError as err:
            raise Refused(f"{text}: {err.strerror}") from None
        if stat.S_ISSOCK(found.st_mode):
            self.kind, self.arguments = "vhost-user device", [*_engine("vhost-user-blk"), f"--socket={text}", "--wait_mode=poll"]
            return
        if not stat.S_ISBLK(found.st_mode) and not stat.S_ISREG(found.st_mode):
            raise Refused(f"{text}: expected a block device, a file, the socket of a vhost-user device or the URI of an NBD server")
        self.kind = "block device" if stat.S_ISBLK(found.st_mode) else "file"
        # A name with a colon is several to fio.
        self.arguments = ["--ioengine=libaio", "--direct=1", f"--filename={os.path.abspath(text)}".replace(":", "\\:")]
        self._look(found)

    def _look(self, found):
        try:
            fd = os.open(self.text, os.O_RDONLY | os.O_DIRECT)
        except OSError as err:
            raise Refused(f"{self.text}: {err.strerror} with O_DIRECT; without it the page cache would be measured") from None
        self.size = os.lseek(fd, 0, os.SEEK_END)
        os.close(fd)
        if self.size < 16 << 20:
            raise Refused(f"{self.text}: {self.size} bytes; at least 16 MiB are needed")
        if stat.S_ISREG(found.st_mode) and found.st_blocks * _SECTOR < 0.9 * self.size:
            self.notes.append(f"{self.text} has holes, which are read without the disk: the figures are too good")


def _engine(name):
    return [f"--ioengine=external:{paths.built('engines', name + '.so')}"]


def target_like(options):
    """fio's arguments for a target of ours with OPTIONS inside fio, where next to nothing is added to what it emulates."""
    return [*_engine("virtio-poll"), f"--target={options}"]


def measure(arguments, size, depth, write, seconds, name):
    """The device_fit.Point of a run with fio's ARGUMENTS; NAME is what is measured, for messages."""
    with tempfile.TemporaryDirectory(prefix="dataplane-device-") as place:
        out = Path(place) / "fio.json"
        # Nothing is ever written where only reading is asked for, whatever else is wrong.
        argv = ["fio", "--name=device", *arguments, f"--rw={'randwrite' if write else 'randread'}", *([] if write else ["--readonly"]), f"--bs={size}",
                f"--iodepth={depth}", "--time_based=1", f"--runtime={round(seconds * 1000)}ms", f"--ramp_time={round(seconds * 250)}ms", "--norandommap=1",
                "--randrepeat=0", "--allow_mounted_write=0", "--lat_percentiles=1", "--output-format=json+", f"--output={out}"]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_PATIENCE_S + 2 * seconds, check=False, cwd=place)
        except OSError as err:
            raise RunFailed(f"fio: {err.strerror}") from None
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{name}: fio did not end in time") from None
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise RunFailed(f"{name}: fio: {process.status(done.returncode)}{': ' + said[0] if said else ''}")
        doc = fiojson.load(out)
    return device_fit.Point(size, depth, write, fiojson.figures(doc)["iops"], dict(fiojson.bins(doc)))
