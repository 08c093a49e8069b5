# SPDX-License-Identifier: GPL-2.0-only
"""One measurement of a row, and of what bars are made of."""

import ctypes
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

from dataplane_lib.errors import RunFailed
from dataplane_lib.host import rtt

from . import servers

BLOCK = 128 << 10


def measure(row, build, pinning, seconds, spdk):
    """ns an I/O, of time or of fio's CPU."""
    fio_cpu, target_cpu = (pinning.fio, pinning.target) if pinning.pinned and not row.spread else (None, None)
    if row.server:
        with servers.serving(row.server, spdk, target_cpu) as socket:
            said = _run(row, _fio(row, build, fio_cpu, seconds, socket, spdk))
    elif row.target:
        said = _with_target(row, build, _fio(row, build, fio_cpu, seconds), target_cpu)
    else:
        said = _run(row, [word + f" --cpus {target_cpu}" if word.startswith("--target=") and target_cpu is not None else word
                          for word in _fio(row, build, fio_cpu, seconds)])
    return _figure(row, said)


def _fio(row, build, cpu, seconds, socket=None, spdk=None):
    """fio's command line; without SOCKET the place of its socket is the environment's.

    Without looks at the clock (gtod_reduce) fio ends a run after a multiple of 32768 I/Os, which is 3 % of 0.3 s at 300 ns.
    """
    before, engine = [], [f"--ioengine=external:{build / 'engines' / row.engine}.so"]
    uri = f"--uri=nbd+unix:///?socket={socket}" if socket else "--uri=${uri}"
    if row.engine == "spdk":
        before, engine = servers.spdk_fio(spdk, socket, cpu)
    elif row.engine == "stock-nbd":
        engine = ["--ioengine=nbd", uri]
    elif row.engine == "nbd":
        engine.append(uri)
    elif row.engine == "vhost-user-blk":
        engine.append(f"--socket={socket or '${socket}'}")
    on_cpu = [f"--cpus_allowed={cpu}"] if cpu is not None and not before else []
    # The CPU time of a run comes with its clock.
    clock = [] if row.cpu else ["--gtod_reduce=1"]
    return [*before, "fio", "--output-format=json", "--name=bench", *engine, "--rw=randread", "--bs=4k", "--norandommap", "--size=256m",
            "--time_based", f"--runtime={seconds}", "--ramp_time=0.1", *clock, *on_cpu, *row.fio]


def _with_target(row, build, argv, cpu):
    with tempfile.NamedTemporaryFile("w", prefix="bench.", suffix=".json") as run:
        words = " ".join("'" + a.replace("${", "'\"${").replace("}", "}\"'") + "'" for a in argv)
        more = ["--cpus", str(cpu)] if cpu is not None else []
        said = _run(row, [str(build / "targets" / row.target[0]), *row.target[1:], *more, "--run", f"{words} --output={run.name}"])
        return Path(run.name).read_text(encoding="utf-8") or said


def _run(row, argv):
    """Its stdout."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RunFailed(f"{row.name}: {(done.stderr or done.stdout).strip() or f'exit {done.returncode}'}")
    return done.stdout


def _figure(row, said):
    try:
        # Libraries may say something ahead of it.
        job = json.loads(said[said.index("{"):])["jobs"][0]
    except (ValueError, LookupError):
        raise RunFailed(f"{row.name}: fio's output is not JSON: {said[:200]}") from None
    if job["error"] or not job["read"]["iops"]:
        raise RunFailed(f"{row.name}: fio reports error {job['error']}")
    a_second = 1e9 * (job["usr_cpu"] + job["sys_cpu"]) / 100 if row.cpu else 1e9
    return a_second / job["read"]["iops"]


def _memcpy(seconds):
    """ns that a copy of a block from 256 MiB of memory takes."""
    size = 256 << 20
    memory, to = ctypes.create_string_buffer(size), ctypes.create_string_buffer(BLOCK)
    ctypes.memset(memory, 1, size)
    places = [ctypes.addressof(memory) + random.randrange(size // BLOCK) * BLOCK for _ in range(256)]
    copies, start = 0, time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        for place in places:
            ctypes.memmove(to, place, BLOCK)
        copies += len(places)
    return (now - start) * 1e9 / copies


def beside(names, pinning, seconds):
    """What bars are made of: round trip, and where a row asks for them a copy and a ping-pong."""
    out = {"rtt": rtt.measure(pinning)}
    if "ram-128k" in names:
        out["memcpy"] = _memcpy(seconds / 4)
    if "nbd-qd1" in names and pinning.fio is not None:
        out["ping-pong"] = rtt.of_tool("socket-pingpong", "trip_ns", pinning)
    return out
