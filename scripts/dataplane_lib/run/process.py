# SPDX-License-Identifier: GPL-2.0-only
"""The two processes of a run: a target that serves a socket, and fio."""

import ctypes
import os
import resource
import select
import signal
import socket
import stat
import subprocess
import time

from ..host import system
from ..errors import RunFailed

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def spawn(argv, cpus, **kwargs):
    """Popen in a session of its own, on CPUS, ended with us if we die."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def prepare():
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        # Each virtqueue has two eventfds.
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        if cpus:
            os.sched_setaffinity(0, cpus)
    try:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True,
                                preexec_fn=prepare, **kwargs)
    except OSError as err:
        raise RunFailed(f"{argv[0]}: {err.strerror}") from None


def listening(path):
    """True once somebody listens on the unix socket, not merely bound it."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return False
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
            return any(line.rstrip("\n").endswith(" " + path)
                       and int(line.split()[3], 16) & 0x10000 for line in table)
    except OSError:
        return False


def connects(place):
    """True if a connection to PLACE comes about: a unix socket's path, or a port of loopback."""
    family, address = ((socket.AF_INET, ("127.0.0.1", place)) if isinstance(place, int)
                       else (socket.AF_UNIX, place))
    with socket.socket(family) as probe:
        probe.settimeout(1)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


def free_port():
    """A TCP port of loopback that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_ready(proc, ready, seconds=10.0):
    """Wait until READY() for the target PROC; RunFailed if it ends or never is."""
    limit = time.monotonic() + seconds
    while not ready():
        if proc.poll() is not None:
            raise RunFailed(f"target ended at start, {status(proc.returncode)}")
        if time.monotonic() > limit:
            raise RunFailed(f"target does not listen after {seconds:g} s")
        time.sleep(0.005)


def stop(proc, number=signal.SIGTERM, seconds=10.0):
    """Signal NUMBER, wait, and SIGKILL where that does not help; returns the status.

    What PROC started and left behind in its session is killed with it, before PROC is reaped and its number free.
    """
    if proc.poll() is None:
        proc.send_signal(number)
        handle = os.pidfd_open(proc.pid)
        select.select([handle], [], [], seconds)
        os.close(handle)
        os.killpg(proc.pid, signal.SIGKILL)
        proc.wait()
    return proc.returncode


def status(code):
    """An exit status in words."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def last_line(path):
    """The last line a program said, for an error message."""
    return next(reversed(system.read(path).splitlines()), "").strip()
