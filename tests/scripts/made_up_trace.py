# SPDX-License-Identifier: GPL-2.0-only
"""Files of traces that nobody recorded, of known truth: no test itself."""

import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

SRC = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SRC / "scripts"))
from dataplane_lib.trace import records as tf  # noqa: E402

ROOM = 2048
place = Path(tempfile.mkdtemp(prefix="made-up-trace-"))


def write(name, program, threads, boot=b"boot", written=None):
    """A file of THREADS: [(name, role, [(time, event, queue, tag, offset, bytes, kind)…])…]."""
    out = struct.pack("=8sIIIIIIQ32s65s37s", tf.MAGIC, 1, 4096, 32, 1, 1 + len(program), 0, 1, program.encode(), b"here", boot).ljust(4096, b"\0")
    for number, (thread, role, events) in enumerate(threads):
        ring = np.zeros(ROOM, tf.RECORD)
        for n, (time, event, queue, tag, offset, size, kind) in enumerate(events):
            ring[n % ROOM] = (time, tag, offset, size, queue, event, kind)
        head = struct.pack("=16sIII", thread.encode(), role, 42 + number, ROOM).ljust(64, b"\0")
        out += (head + struct.pack("=Q", len(events) if written is None else written)).ljust(4096, b"\0") + ring.tobytes()
    (place / name).write_bytes(out)
    return str(place / name)


def engine(at, tag, offset, queue=0, life=1000, kind=0):
    """Events of a request in an engine, asleep in between."""
    return [(at, tf.QUEUE, queue, tag, offset, 4096, kind), (at + 10, tf.SUBMIT, queue, 0, 0, 1, 0), (at + 20, tf.KICK, queue, 0, 0, 0, 0),
            (at + life - 50, tf.AWAKE, 0, 0, 0, 0, 0), (at + life, tf.SEEN, queue, tag, 0, 0, 0), (at + life + 5, tf.RETURN, 0, 0, 0, 1, 0)]


def target(at, tag, offset, queue=0, kind=0):
    """The same in a target with a worker: [iothread's, worker's]."""
    return ([(at + 200, tf.WOKEN, queue, 0, 0, 0, 0), (at + 300, tf.POP, queue, tag, 0, 0, 0), (at + 310, tf.START, queue, tag, offset, 4096, kind),
             (at + 700, tf.DONE, queue, tag, 0, 0, 0), (at + 710, tf.PUBLISH, queue, 0, 0, 0, 0), (at + 720, tf.CALL, queue, 0, 0, 0, 0)],
            [(at + 400, tf.WORK, queue, tag, 0, 0, 0), (at + 600, tf.WORKED, queue, tag, 0, 0, 0)])


def both(lists):
    """Lists of (iothread's, worker's) made one of each."""
    return [sum((one[i] for one in lists), []) for i in (0, 1)]


def clean_up():
    """Remove all that was written."""
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
