#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Guests of a real QEMU as arms, with a made-up QEMU: what is started, measured, marked, refused and left out."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fakes
from dataplane_lib.cli import main
from dataplane_lib.model import guest_arm
from dataplane_lib.read import store
from guest_lib import image, machine
from guest_lib.errors import Unavailable

_QEMU = r"""#!/usr/bin/python3
import io, json, os, re, socket, sys, tarfile, threading, time
if "--version" in sys.argv:
    print("QEMU emulator version 9.9.9"); sys.exit(0)
args = sys.argv[1:]
mode = os.environ.get("FAKE_QEMU", "")
def values(option):
    return [b for a, b in zip(args, args[1:]) if a == option]
with open(os.environ["PEER_LOG"], "a") as log:
    log.write(json.dumps(args) + "\n")
if "-qmp" not in args:
    print("GUEST-RC=0"); sys.exit(0)
if mode == "refuse":
    print("qemu: made-up refusal", file=sys.stderr); sys.exit(1)
begun, numbers = threading.Event(), {}
def iothread():
    numbers["io"] = threading.get_native_id()
    begun.wait()
    while True:
        sum(range(20000)); time.sleep(0.001)
threads = ["io"] if any("iothread" in o for o in values("-object")) else []
for name in threads:
    threading.Thread(target=iothread, daemon=True).start()
while len(numbers) < len(threads):
    time.sleep(0.001)
server = socket.socket(socket.AF_UNIX)
server.bind(re.match("unix:([^,]*)", values("-qmp")[0])[1])
server.listen()
talk = server.accept()[0].makefile("rw")
def say(what):
    talk.write(json.dumps(what) + "\n"); talk.flush()
say({"QMP": {}})
for line in talk:
    asked = json.loads(line)["execute"]
    if asked == "query-iothreads":
        say({"return": [{"id": "io0", "thread-id": n} for n in numbers.values()]})
    elif asked == "query-cpus-fast":
        say({"return": [{"thread-id": os.getpid()}]})
    else:
        say({"event": "RESUME"}); say({"return": {}})
    if asked == "cont":
        break
begun.set()
initramfs = open(values("-initrd")[0], "rb").read()
runtime = int(re.search(rb"\nruntime=(\d+)ms", initramfs)[1]) / 1000
window = [int(n) for o in values("-object") for n in re.findall("poll-max-ns=(\d+)", o)]
try:
    path = re.search("path=([^,]*)", values("-chardev")[0])[1]
    said = open(path + ".args").read().split()
    window = [int(said[said.index("--poll-max-ns") + 1])]
except IndexError:
    pass
time.sleep(runtime)
usec = 20 if window[0] >= 16384 else 40
count = int(runtime * 1e6 / usec)
part = dict(total_ios=count, iops=1e6 / usec, bw_bytes=4096e6 / usec, drop_ios=0,
            lat_ns=dict(N=count, mean=usec * 1e3, bins={str(usec * 1000): count}))
job = dict(jobname="j", error=0, job_runtime=int(runtime * 1000), usr_cpu=1.0, sys_cpu=1.0, read=part)
# The guest's clock is another one.
text = json.dumps({"timestamp_ms": int((time.time() - 12345) * 1000), "jobs": [job]}).encode()
box = next(b["filename"] for b in map(json.loads, values("-blockdev")) if b["node-name"] == "mailbox")
if mode != "panic":
    print("\r\nGUEST-FIO-DONE\r\nfio: made-up words", flush=True)
    with tarfile.open(box, "w") as mail:
        entry = tarfile.TarInfo("./fio.json")
        entry.size = len(text)
        mail.addfile(entry, io.BytesIO(text))
    print("GUEST-RC=" + ("3" if mode == "fio" else "0") + "\r\n[    9.9] reboot: Power down")
else:
    print("Kernel panic - made-up")
"""
JOB = """; a comment
[global]
ioengine=external:${FIO_DATAPLANE}/engines/mine.so
socket=${socket}
wait_mode=${wait}
cpus_allowed=${fio_cpus}
lat_percentiles=1
runtime=${runtime}
bs=${bs}
numjobs=2
[j]
"""
STUDY = """
job = "job.fio"
warmup = 0
repeats = 1
runtime = 0.5
sample = 0.1
along = "poll-max-ns"
effect = "polling"
[target]
options = "--backend null"
[variables]
bs = "4k"
wait = "block"
[choices.device]
kvm = { program = "guest", options = "--accel kvm --latency-ns 14us" }
emulated = { program = "guest", options = "--accel tcg" }
ours = { program = "guest", options = "--disk vhost-user-blk --backend null --num-queues 2" }
[baseline]
poll-max-ns = "0"
[factors]
device = ["kvm", "emulated", "ours"]
poll-max-ns = [0, 8192, 32768]
"""


class Guests(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name)
        env = fakes.install(self.dir)
        for name in ("kernel", "initramfs"):
            (self.dir / name).write_bytes(b"")
        self.qemu = self.dir / "bin" / "qemu-system-x86_64"
        self.qemu.write_text(_QEMU)
        self.qemu.chmod(0o755)
        (self.dir / "job.fio").write_text(JOB)
        (self.dir / "study.toml").write_text(STUDY)
        self.out = self.dir / "out"
        for patch in (mock.patch.dict(os.environ, {**env, "TMPDIR": tmp.name}),
                      mock.patch.object(image, "prepare", self.prepare),
                      mock.patch.object(machine, "kvm_works", machine.kvm_works.__wrapped__),
                      mock.patch.object(guest_arm, "_no_image", guest_arm._no_image.__wrapped__)):
            patch.start()
            self.addCleanup(patch.stop)
        self.kvm(True)

    def prepare(self):
        return image.Image(self.dir / "kernel", self.dir / "initramfs")

    def kvm(self, there):
        """Have /dev/kvm, or have it not."""
        access = os.access
        patch = mock.patch.object(os, "access", lambda path, mode: there if path == "/dev/kvm" else access(path, mode))
        patch.start()
        self.addCleanup(patch.stop)

    def run_study(self, *args):
        """(exit status, stdout, stderr) of dataplane run."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main(["run", str(self.dir / "study.toml"), "-v", "--keep-raw", "--out", str(self.out), *args])
        return status, fakes.unwrapped(out.getvalue()), err.getvalue()

    def started(self):
        """The arguments of every QEMU that was to run a job."""
        lines = (self.dir / "peer.log").read_text().splitlines()
        return [args for args in map(json.loads, lines) if "-qmp" in args]

    def test_run(self):
        status, said, err = self.run_study()
        self.assertEqual(status, 0, err)
        result = json.loads((self.out / "result.json").read_text())
        arms = {a["name"]: a for a in result["arms"]}
        fast = arms["device=kvm poll-max-ns=32768"]
        # KVM is as good as any; each device has a baseline of its own.
        self.assertAlmostEqual(fast["change"]["iops"], 100)
        self.assertIn("device", fast["against"])
        for device in ("kvm", "ours"):
            self.assertIn(f"Baseline device={device} poll-max-ns=0: 25.0k IOPS", said)
            self.assertIn(f"* {device}: inconclusive with 1 run in IOPS over poll-max-ns 8192 to 32768: 0.0 % to +100 %", said)
        self.assertIn("server: kvm (QEMU's virtio-blk, null-co, 14us a request), emulated (QEMU's virtio-blk, null-co), "
                      "ours (a guest's vhost-user-blk, null); policy: adaptive; job: job.fio (bs=4k wait=block)", " ".join(said.split()))
        # TCG is not.
        emulated = arms["device=emulated poll-max-ns=32768"]
        self.assertEqual((emulated["change"], emulated["no_measurement"]), ({}, "QEMU emulated the guest's CPU (TCG)"))
        self.assertNotIn("* emulated:", said)
        self.assertNotIn("Baseline device=emulated", said)
        self.assertIn("* No conclusion for 3 of 9 arms: software emulation is not a measurement.", said)
        self.assertIn("(50.0k)", said)
        self.assertIn("device=emulated poll-max-ns=32768: no measurement: QEMU emulated the guest's CPU (TCG).", said)
        self.assertIn("emulated (no measurement)", (self.out / "plot.svg").read_text())
        # The iothread's CPU is the target's, QEMU's has it in it; the guest's clock is another one than ours.
        # On a busy host the sampler, or the thread, may get no time in some run.
        runs = {device: [r for r in result["runs"] if r["arm"].startswith(f"device={device}") and r["threads"]] for device in ("kvm", "ours")}
        self.assertGreater(max(r["metrics"]["target_cpu"] for r in runs["kvm"]), 0)
        for run in runs["kvm"]:
            self.assertGreaterEqual(run["metrics"]["qemu_cpu"], run["metrics"]["target_cpu"])
        self.assertEqual({name for r in runs["ours"] for name in r["threads"]}, {"vhost-user-blk-"})
        facts = store.load(self.out).header["host"]
        self.assertEqual(facts["qemu-system-x86_64"], "QEMU emulator version 9.9.9")

        kvm, tcg = (next(a for a in self.started() if word in a and "iothread,id=io0,poll-max-ns=0" in a) for word in ("kvm", "tcg,thread=multi"))
        self.assertEqual(kvm[kvm.index("-cpu") + 1], "host")
        self.assertIn('"latency-ns": 14000', "".join(kvm))
        ours = next(a for a in self.started() if "-chardev" in a)
        self.assertIn("vhost-user-blk-pci,chardev=c0,num-queues=2", ours)
        record = next((self.out / "raw").glob("*-ours-8192-1/run.json")).read_text()
        self.assertIn("--backend null --num-queues 2 --poll-max-ns 8192", json.loads(record)["target"])
        # What the guest got is what the job says, less what only the host has.
        job = next((self.out / "raw").glob("*-kvm-8192-1/guest.fio")).read_text()
        self.assertEqual(job, "[global]\nioengine=libaio\ndirect=1\nfilename=/dev/vda\nwait_mode=block\nlat_percentiles=1\n"
                              "runtime=500ms\nbs=4k\nnumjobs=2\n[j]\n")
        self.assertEqual([p.name for p in self.dir.iterdir() if p.name.startswith(("initramfs-", "dataplane-"))], [])

    def test_no_kvm(self):
        self.kvm(False)
        status, said, err = self.run_study("--vary", "poll-max-ns=0")
        self.assertEqual(status, 0, err)
        self.assertIn("KVM boots no guest of qemu-system-x86_64 here: skipped device=kvm poll-max-ns=0.", said)
        # auto is what there is.
        self.assertIn("No conclusion for 2 of 2 arms", said)
        self.assertRegex(said, r"\(25\.0k\) +no measurement")

    def test_missing(self):
        plain = self.dir / "plain.toml"
        text = STUDY.replace('device = ["kvm", "emulated", "ours"]', 'device = ["kvm", "here"]')
        plain.write_text(text.replace("[baseline]", "here = {}\n[baseline]"))
        (self.dir / "study.toml").write_text(plain.read_text().replace("--accel kvm", "--qemu no-such-qemu"))
        status, said, err = self.run_study("--vary", "poll-max-ns=0")
        self.assertEqual(status, 0, err)
        gone = "no-such-qemu is not installed: skipped device=kvm poll-max-ns=0."
        self.assertIn(f"dataplane: {gone}", err)
        self.assertIn(gone, said)
        (self.dir / "study.toml").write_text(plain.read_text())
        shutil.rmtree(self.out)
        with mock.patch.object(image, "prepare", side_effect=Unavailable("apt-get is far away")):
            status, said, err = self.run_study("--vary", "poll-max-ns=0")
        self.assertEqual(status, 0, err)
        self.assertIn("no guest: apt-get is far away: skipped device=kvm", said)

    def test_failures(self):
        for mode, text in (("panic", "the guest came to no end: Kernel panic - made-up"),
                           ("fio", "fio in the guest: exit status 3: fio: made-up words"),
                           ("refuse", "QEMU: target ended at start, exit status 1: qemu: made-up refusal")):
            with self.subTest(mode), mock.patch.dict(os.environ, FAKE_QEMU=mode):
                status, _, err = self.run_study("--vary", "device=emulated")
                self.assertEqual(status, 3)
                self.assertIn(text, err)
                shutil.rmtree(self.out)

    def test_another_version(self):
        other = self.dir / "old" / "qemu"
        other.parent.mkdir()
        shutil.copy(self.qemu, other)
        other.write_text(_QEMU.replace("9.9.9", "1.2"))
        status, _, err = self.run_study("--peer", f"qemu-system-x86_64={other}", "--vary", "poll-max-ns=0",
                                        "--vary", "device=emulated,emulated qemu-system-x86_64-1.2")
        self.assertEqual(status, 0, err)
        names = {a["name"] for a in json.loads((self.out / "result.json").read_text())["arms"]}
        self.assertEqual(names, {"device=emulated poll-max-ns=0", "device=emulated qemu-system-x86_64-1.2 poll-max-ns=0"})
        record = next((self.out / "raw").glob("*-1.2-0-1/run.json")).read_text()
        self.assertTrue(json.loads(record)["qemu"].startswith(str(other)))

    def test_mistakes(self):
        for text, options in (("--disk floppy: expected virtio-blk or vhost-user-blk", "--disk floppy"),
                              ("--accel xen: expected auto, kvm, tcg", "--accel xen"),
                              ("--latency-ns soon: expected a time such as", "--latency-ns soon"),
                              ("--vcpus: expected a number", "--vcpus"), ("--vcpus 1 2: expected", "--vcpus 1 2"),
                              ("--frob: unknown for a guest", "--frob 1"), ("--aio: needs --backend file", "--aio native"),
                              ("--latency-ns: needs --backend null-co", "--backend file:/x --latency-ns 1us"),
                              ("--backend ram: expected null-co or file:PATH", "--backend ram"),
                              ("$file is used", "--backend file:$file"), ("expected --option first", "frob")):
            with self.subTest(options):
                (self.dir / "study.toml").write_text(STUDY.replace("--accel tcg", options))
                status, _, err = self.run_study()
                self.assertEqual((status, err.count("\n")), (2, 1), err)
                self.assertIn(text, err)
                self.assertFalse(self.out.exists())

    def test_disks(self):
        def disk(options):
            words = guest_arm.parse(options.split(), "here").disk_arguments("/a,b")
            return json.loads(words[words.index("-blockdev") + 1]), " ".join(words)
        (self.dir / "disk").write_bytes(b"")
        node, words = disk(f"--backend file:{self.dir}/disk --aio io_uring --cache directsync --poll-grow 4 --packed on --queue-size 64")
        self.assertEqual(node, {"driver": "file", "filename": f"{self.dir}/disk", "aio": "io_uring", "node-name": "disk",
                                "cache": {"direct": True, "no-flush": False}})
        self.assertIn("iothread,id=io0,poll-grow=4 ", words)
        self.assertIn("write-cache=off,num-queues=1,queue-size=64,packed=on", words)
        node, words = disk("--poll-max-ns 32us --size 64m")
        self.assertEqual(node, {"driver": "null-co", "size": 64 << 20, "latency-ns": 0, "node-name": "disk"})
        self.assertIn("iothread,id=io0,poll-max-ns=32000 ", words)
        ours = guest_arm.parse("--disk vhost-user-blk --poll busy --read-only --memory 64".split(), "here")
        self.assertEqual((ours.rest, ours.memory), (["--poll", "busy", "--read-only"], 64))
        # The made-up QEMU says that it is 9.9.9.
        self.assertIn("path=/a,,b,reconnect-ms=1000", ours.disk_arguments("/a,b")[1])


if __name__ == "__main__":
    unittest.main()
