# SPDX-License-Identifier: GPL-2.0-only
"""A trace as it lies in a file: wire/trace.h is the format, docs/traces.md what it means."""

import errno
import os
import struct
from dataclasses import dataclass

import numpy as np

from .. import files
from ..errors import NotMeasured, Refused

MAGIC, VERSION, PAGE = b"dptrace\n", 1, 4096
RECORD = np.dtype([("time", "u8"), ("tag", "u8"), ("offset", "u8"), ("bytes", "u4"), ("queue", "u2"),
                   ("event", "u1"), ("kind", "u1")])
_HEADER = struct.Struct("=8sIIIIIIQ32s65s37s")
_THREAD = struct.Struct("=16sIII")
_WRITTEN_AT = 64

JOB, IOTHREAD, WORKER = 1, 2, 3

# In the order of a request's life
(QUEUE, SUBMIT, KICK, WOKEN, POP, START, WORK, WORKED, DONE, PUBLISH, CALL, AWAKE, SEEN, RETURN) = range(1, 15)
EVENTS = 15

KINDS = ("read", "write", "flush", "discard", "write zeroes", "other")


@dataclass
class Thread:
    """The part of a file that a thread has written: RECORDS in order, without the LOST oldest ones."""
    name: str
    role: int
    tid: int
    lost: int
    records: np.ndarray


@dataclass
class File:
    """A file of a job, or a target; BOOT tells which boot's clock the times are from."""
    path: str
    program: str
    host: str
    boot: str
    pid: int
    threads: list

    @property
    def lost(self):
        return sum(t.lost for t in self.threads)

    @property
    def is_nbd(self):
        return "nbd" in self.program


def load(path):
    """Read a trace; one of a process that still runs, or was killed, will do."""
    if not os.path.exists(path):
        raise Refused(f"{path}: {os.strerror(errno.ENOENT)}")
    with files.reading(path), files.opened(path) as file:
        return _read(str(path), file)


def _read(path, file):
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or head[:8] != MAGIC:
        raise Refused(f"{path}: not a trace of fio-dataplane")
    _, version, page, record, _clock, pid, _, _, program, host, boot = _HEADER.unpack(head)
    if (version, page, record) != (VERSION, PAGE, RECORD.itemsize):
        raise NotMeasured(f"{path}: a trace of version {version} (or another byte order), {VERSION} is what is known here")
    found = File(path, _text(program), _text(host), _text(boot), pid, [])
    at = PAGE
    while True:
        thread, length = _thread(path, file, at)
        if length is None:
            return found
        if thread:
            found.threads.append(thread)
        at += PAGE + length


def _text(raw):
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def _thread(path, file, at):
    """(Thread, bytes of its records); (None, None) behind the last one."""
    file.seek(at)
    head = file.read(PAGE)
    if len(head) < PAGE:
        return None, None
    name, role, tid, room = _THREAD.unpack_from(head)
    if not role:
        return None, None
    if role not in (JOB, IOTHREAD, WORKER) or not room or room & (room - 1):
        raise NotMeasured(f"{path}: is damaged: a thread's part at {at} has role {role} and room for {room} records")
    if at + PAGE + room * RECORD.itemsize > os.fstat(file.fileno()).st_size:
        raise NotMeasured(f"{path}: is cut off in the records of {_text(name)}")
    raw = np.frombuffer(file.read(room * RECORD.itemsize), RECORD)
    before = _written(head)
    file.seek(at)
    # Of a process that still runs: what it has overwritten since is of no use.
    after = _written(file.read(PAGE))
    first = max(0, after - room + 1)
    place = np.arange(first, before, dtype=np.int64) % room if first < before else np.zeros(0, dtype=np.int64)
    return Thread(_text(name), role, tid, first, raw[place]), room * RECORD.itemsize


def _written(head):
    return struct.unpack_from("=Q", head, _WRITTEN_AT)[0]
