# SPDX-License-Identifier: GPL-2.0-only
"""When each job of a running fio was there: its processes, which fio starts when a job's turn comes, and which end with it."""

import os
import select
import time
from contextlib import suppress

_TICK = os.sysconf("SC_CLK_TCK")


class Watch:
    """The jobs of the fio with the number PID. Their ends wake POLL, so that they are known to the ms."""

    def __init__(self, pid, poll):
        self._children = f"/proc/{pid}/task/{pid}/children"
        self._poll = poll
        self._running = {}
        self._seen = {}

    def look(self):
        """To be called now and then, and whenever POLL woke."""
        now = time.time()
        for pid, handle in list(self._running.items()):
            if select.select([handle], [], [], 0)[0]:
                self._seen[pid][1] = now
                self._end(pid)
        with suppress(OSError):
            with open(self._children, encoding="ascii") as file:
                for pid in map(int, file.read().split()):
                    if pid not in self._seen:
                        self._begin(pid)

    def _begin(self, pid):
        with suppress(OSError, ValueError):
            with open(f"/proc/{pid}/stat", "rb") as file:
                ticks = int(file.read().rpartition(b")")[2].split()[19])
            handle = os.pidfd_open(pid)
            self._running[pid] = handle
            self._poll.register(handle, select.POLLIN)
            self._seen[pid] = [time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / _TICK, None]

    def _end(self, pid):
        handle = self._running.pop(pid)
        self._poll.unregister(handle)
        os.close(handle)

    def close(self):
        """[[start, end] of each process] in Unix s; None where there were none, as of jobs that are threads."""
        self.look()
        now = time.time()
        for pid in list(self._running):
            self._end(pid)
        return sorted([start, end or now] for start, end in self._seen.values()) or None
