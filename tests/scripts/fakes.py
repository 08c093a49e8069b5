# SPDX-License-Identifier: GPL-2.0-only
"""Made-up programs and results for the tests of scripts/: no test itself.

install() writes a fake fio, target and rtt into a directory. The fake target
leaves its arguments beside its socket; the fake fio reads them and reports
the IOPS that a model gives for them, in fio's json+ format, ${jobs} times, with
IOPS logs if it is told where to. The fake peer is somebody else's server.
"""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATAPLANE = ROOT / "scripts" / "dataplane"
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
# What tests measure belongs into no history of the user's.
os.environ.setdefault("FIO_DATAPLANE_HISTORY", "")

JOB = """[global]
description=${socket}
lat_percentiles=1
time_based=1
runtime=${runtime}
ramp_time=0
[j]
bs=${bs}
"""

_FIO = """#!/usr/bin/python3
import json, os, sys, time
if "--version" in sys.argv:
    print("fio-0.0-fake"); sys.exit(0)
if "--enghelp" in sys.argv:
    print("Available IO engines:\\n\tnull\\n\tnbd"); sys.exit(0)
if "--parse-only" in sys.argv: sys.exit(0)
out = next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--output="))
mode = os.environ.get("FAKE_FIO", "")
runtime = int(os.environ["runtime"][:-2]) / 1000
try:
    with open(os.environ["socket"] + ".args", errors="surrogateescape") as file:
        args = file.read().split()
except OSError:
    args = []
option = dict(zip(args[::2], args[1::2]))
window = int(option.get("--poll-max-ns", 0)) if option.get("--poll") != "off" else 0
usec = 20 if window >= 16384 else 40
# The fake target sleeps at every other request.
usec += (int(option.get("--request-cost", "0ns")[:-2]) + int(option.get("--wakeup-cost", "0ns")[:-2]) // 2) // 1000
if mode.startswith("disturbed") and option.get("--poll-max-ns") == "4096":
    # The first run of two, or of every two.
    with open(os.environ["PEER_LOG"] + ".runs", "a+") as file:
        file.write("x"); file.seek(0); nth = len(file.read())
    usec *= 2 if nth == 1 or nth % 2 and mode == "disturbed-always" else 1
if mode == "kill-target":
    os.kill(int(option["pid"]), 9); time.sleep(30)
jobs = int(os.environ.get("jobs", 1))
turns = jobs if mode == "turns" else 1
time.sleep(runtime * turns)
now = time.time()
if mode == "exit": print("fio: made-up trouble", file=sys.stderr); sys.exit(3)
count = int(runtime * 1e6 / usec)
part = dict(total_ios=count, iops=1e6 / usec, bw_bytes=4096e6 / usec, drop_ios=0,
            lat_ns=dict(N=count, mean=usec * 1e3, bins={str(usec * 1000): count}))
none = dict(total_ios=0)
job = dict(jobname="j", error=5 if mode == "job-error" else 0, job_runtime=int(runtime * 1000),
           usr_cpu=10.0, sys_cpu=5.0, read=part, write=none, trim=none)
if mode == "total-err": job["total_err"] = 2
step = int(os.environ["sample_ms"])
for n in range(jobs):
    end = now - (n * runtime if mode == "turns" else 0)
    with open(f"{os.environ['iops_log']}_iops.{n + 1}.log", "w") as log:
        for k in range(int(runtime * 1000 / step)):
            when = int((end - runtime) * 1000) + (k + 1) * step
            print(f"{when}, {1000000 // usec + (100 if k % 2 else -100)}, 1, 0, 0", file=log)
if mode == "no-json": open(out, "w").write("fio: no room"); sys.exit(0)
with open(out, "w") as file:
    file.write("a line that an engine logged\\n" if mode == "log" else "")
    json.dump({"timestamp_ms": int(now * 1000), "jobs": [job] * jobs}, file, indent=1)
"""

_TARGET = """#!/usr/bin/python3
import json, os, signal, socket, sys
args = sys.argv[1:]
option = dict(zip(args[::2], args[1::2]))
mode = os.environ.get("FAKE_TARGET", "")
if "--version" in args:
    for name in set(a for a in args if a.startswith("--")) & {"--frob", "--wait_mode"}:
        sys.exit(f"target: {name}: no such option, --help lists them")
    print("target 0.0 (made-up)"); sys.exit(0)
if mode == "refuse":
    print("target: --poll: made-up refusal", file=sys.stderr); sys.exit(1)
def stop(*_):
    served = 0 if mode == "short" else 10000000
    thread = dict(name="iothread0", requests=dict(read=served, write=0), sleeps=served // 2,
                  errors=1 if mode == "errors" else 0,
                  notifications=dict(received=served, sent=served, suppressed=0),
                  switches=dict(voluntary=served // 2, involuntary=0))
    with open(option["--stats"], "w") as file:
        json.dump(dict(iothreads=[thread]), file)
    os._exit(4 if mode == "exit" else 0)
signal.signal(signal.SIGTERM, stop)
with open(option["--socket"] + ".args", "w", errors="surrogateescape") as file:
    file.write(" ".join(args + ["pid", str(os.getpid())]))
server = socket.socket(socket.AF_UNIX)
server.bind(option["--socket"])
server.listen()
while True:
    signal.pause()
"""

_PEER = """#!/usr/bin/python3
import os, signal, socket, sys, time
if "--version" in sys.argv:
    print("peer 9.8.7 (made-up)"); sys.exit(0)
path, file = sys.argv[1:3]
def said(text):
    with open(os.environ["PEER_LOG"], "a") as log:
        log.write(text + "\\n")
if path.isdigit():
    server = socket.socket()
    server.bind(("127.0.0.1", int(path)))
else:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
server.listen()
said(f"{os.path.basename(sys.argv[0])} file {os.stat(file).st_size} {'full' if os.stat(file).st_blocks * 512 >= os.stat(file).st_size else 'holes'}")
if os.fork() == 0:
    while os.getppid() != 1: pass    # a child that works
    time.sleep(60)                   # and outlives its parent
for name in ("TERM", "INT"):
    signal.signal(getattr(signal, "SIG" + name), lambda number, _: (said(signal.Signals(number).name), os._exit(3)))
while True:
    signal.pause()
"""


def install(directory):
    """Write the fake programs under DIRECTORY; returns the environment for them."""
    directory = Path(directory)
    rtt = "#!/bin/sh\necho '{\"rtt_ns\": 100}'\n"
    for name, text in (("bin/fio", _FIO), ("targets/vhost-user-blk-target", _TARGET), ("tools/rtt", rtt),
                       ("bin/peer", _PEER)):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (directory / "job.fio").write_text(JOB)
    return {**os.environ, "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
            "FIO_DATAPLANE": str(directory), "PEER_LOG": str(directory / "peer.log")}


def dataplane(*args, env=None):
    """Run scripts/dataplane; returns the finished process with its texts."""
    return subprocess.run([str(DATAPLANE), *args], env=env, capture_output=True, text=True,
                          timeout=120, check=False)


def runs(out):
    """What the result in OUT says of each of its runs, in the order they were made."""
    from dataplane_lib.read import store
    return [run.facts for run in store.load(out).runs]


def unwrapped(text):
    """The sentences of a report, each in one line as before it was fitted to a terminal."""
    lines = []
    for line in text.splitlines():
        if line.startswith("  ") and lines and lines[-1][:2] in ("* ", "! "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def arm(name, value, base, spread=0.01, cpu=None, runs=4):
    """An arm of a digest: x=NAME with the primary metric VALUE."""
    numbers = {"iops": {"value": value, "min": value * (1 - spread), "max": value * (1 + spread)}}
    change = {"iops": 100 * (value / base - 1)}
    if cpu is not None:
        numbers["target_cpu"] = {"value": cpu, "min": cpu, "max": cpu}
    values = {"x": name} if name != "off" else {"mode": "off"}
    return {"name": name, "values": values, "baseline": name == "off", "against": "off", "runs": runs,
            "marked": 0, "metrics": numbers, "change": change}


def result(values, base=100.0, spread=0.01, cpu=None, base_cpu=None, runs=4):
    """A digest with one factor x and an outside baseline 'off'."""
    names = [str(2 ** i) for i in range(len(values))]
    arms = [arm("off", base, base, spread, base_cpu, runs)]
    arms += [arm(n, v, base, spread, c, runs)
             for n, v, c in zip(names, values, cpu or [None] * len(values))]
    # Evenly over each arm's range, and in another order for each of them.
    made = [{"arm": a["name"], "repeat": n + 1, "metrics": {"iops": value * (1 - spread + 2 * spread * ((n * 3 + k) % runs + 0.5) / runs)}}
            for k, (a, value) in enumerate(zip(arms, [base, *values])) for n in range(runs)]
    return {"study": {"name": "s", "primary": "iops", "effect": "polling", "factors": {"x": names}},
            "arms": arms, "runs": made}
