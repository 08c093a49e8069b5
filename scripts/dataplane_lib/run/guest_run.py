# SPDX-License-Identifier: GPL-2.0-only
"""One run of fio in a guest: QEMU up, its threads where they belong, fio's files back.

A guest is booted for each run, as each run has a fresh target. What it is to do is in its initramfs; what fio wrote
comes back on a disk of its own, the mailbox, which a serial line would take seconds for.
"""

import json
import os
import select
import shlex
import tarfile
import time

from guest_lib import disks, machine
from guest_lib.errors import Failed
from guest_lib.qmp import Monitor

from ..host import cpu
from ..model import guest_arm, jobfile
from ..read import fiojson
from . import guest_job, process
from ..errors import RunFailed

_SAMPLE_S = 0.1
# Boot, and what fio does before and after its runtime; an emulated CPU on a busy host is slow.
_PATIENCE_S = 180.0
_MAILBOX = 64 << 20
_DONE = b"GUEST-FIO-DONE"

# With no scheduler, as in what is compared with; where two queues are, none is the kernel's own choice.
_COMMANDS = f"""
for disk in /sys/block/vd*; do
	[ "$(cat $disk/serial)" != {disks.MAILBOX} ] || box=/dev/${{disk##*/}}
done
echo none >/sys/block/{os.path.basename(guest_job.DISK)}/queue/scheduler
mkdir out
cd out
rc=0
fio --output-format=json+ --output=fio.json /job.fio >fio.said 2>&1 || rc=$?
echo
echo {_DONE.decode()}
cat fio.said
rm fio.said
tar cf $box .
exit $rc
"""


def run(guest, runner, job, environment, socket, directory, target, record):
    """fio in GUEST on JOB, a path, whose variables are ENVIRONMENT; what it wrote is in DIRECTORY then.

    TARGET is the process that serves the disk on SOCKET, None where QEMU does; beside the socket is room for
    what lives as long as the run. RECORD learns what was run.
    """
    accel = guest_arm.accelerator(guest)
    record["guest"] = {"accel": accel, "disk": guest.disk}
    private = os.path.dirname(socket)
    there = directory / "guest.fio"
    # The log is written where fio is at work in the guest.
    text = guest_job.rewritten(jobfile.load(job), {**environment, "iops_log": "job"}, guest.engine)
    there.write_bytes(text.encode("utf-8", "surrogateescape"))
    box, monitor = os.path.join(private, "mailbox"), os.path.join(private, "monitor")
    with open(box, "wb") as file:
        file.truncate(_MAILBOX)
    built = guest_arm.built_image()
    with machine.initramfs(built, _COMMANDS, [(str(there), "/job.fio")]) as initramfs:
        argv = [guest.qemu, *machine.arguments(built.kernel, initramfs, guest.vcpus, guest.memory, accel),
                "-name", "guest,debug-threads=on", "-S", "-no-reboot", "-serial", "stdio",
                "-qmp", f"unix:{monitor},server=on,wait=off",
                *guest.disk_arguments(socket), *disks.mailbox(box)]
        record["qemu"] = shlex.join(argv)
        if target is None:
            record["target"] = "QEMU itself"
        said = _boot(guest, runner, argv, monitor, directory, target, record)
    _fetch(box, directory)
    _check(said, directory)
    # When fio said what it found is known by both clocks, the guest's and ours.
    record["clock_offset_s"] = fiojson.load(directory / "fio.json")["timestamp_ms"] / 1000 - record["guest"].pop("done")


def _boot(guest, runner, argv, monitor, directory, target, record):
    """QEMU from start to end; returns what the guest said on its console."""
    limit = time.monotonic() + _PATIENCE_S + runner.study.runtime + runner.study.ramp
    with open(directory / "qemu.err", "wb") as err:
        qemu = process.spawn(argv, _most(runner.pinning), stdout=-1, stderr=err)
        try:
            process.wait_ready(qemu, lambda: process.listening(monitor))
            ours = _place(guest, runner.pinning, monitor, record)
            watch = _Watch(qemu, target, runner.watched(), ours)
            said = watch.until(limit, directory / "console.txt")
        except (RunFailed, Failed) as failure:
            last = process.last_line(directory / "qemu.err")
            raise RunFailed(f"QEMU: {failure}{': ' + last if last else ''}") from None
        finally:
            process.stop(qemu)
            qemu.stdout.close()
    record["guest"]["done"] = watch.done
    (directory / "qemu-cpu.json").write_text(json.dumps(watch.qemu_samples()) + "\n")
    (directory / "cpu.json").write_text(json.dumps(watch.samples()) + "\n")
    return said


def _most(pinning):
    """Where QEMU's threads may run but those that are placed: not where the target is."""
    return {pinning.fio} | pinning.rest if pinning.pinned else None


def _place(guest, pinning, monitor, record):
    """Put QEMU's threads on their CPUs and let the guest go; returns the iothread's numbers.

    A single vCPU is where fio's job is in other arms, the iothread where the target is.
    """
    with Monitor(monitor) as qemu:
        ours = [t["thread-id"] for t in qemu.ask("query-iothreads")]
        vcpus = [t["thread-id"] for t in qemu.ask("query-cpus-fast")]
        if pinning.pinned:
            for tid in ours:
                os.sched_setaffinity(tid, {pinning.target})
            if guest.vcpus == 1:
                os.sched_setaffinity(vcpus[0], {pinning.fio})
        record["guest"].update(iothreads=ours, vcpus=vcpus)
        qemu.ask("cont")
    return ours


class _Watch:
    """QEMU, and the TARGET that serves its disk if there is one, while the guest runs: console and CPU.

    CPUS are sampled as a whole. IOTHREADS are the numbers of the threads that serve a disk of QEMU's own.
    """

    def __init__(self, qemu, target, cpus, iothreads):
        self._processes = [p for p in (qemu, target) if p]
        self._iothreads = {str(t) for t in iothreads}
        self._samplers = [cpu.Sampler(p.pid, cpus) for p in self._processes]
        self._console = qemu.stdout
        self.done = None

    def until(self, limit, log):
        """Until QEMU ends; RunFailed at the time LIMIT. Returns the console's text, which goes to LOG too."""
        said = bytearray()
        poll = select.poll()
        poll.register(self._console, select.POLLIN)
        with open(log, "wb") as file:
            while True:
                if poll.poll(_SAMPLE_S * 1000):
                    piece = os.read(self._console.fileno(), 1 << 16)
                    if not piece:
                        return bytes(said)
                    file.write(piece)
                    said += piece
                    if self.done is None and _DONE in said:
                        self.done = time.monotonic()
                if self.done is None:
                    self._sample()
                if len(self._processes) > 1 and self._processes[1].poll() is not None:
                    raise RunFailed(f"the target ended during the run, {process.status(self._processes[1].returncode)}")
                if time.monotonic() > limit:
                    raise RunFailed("the guest did not end in time")

    def _sample(self):
        now = time.monotonic()
        last = self._samplers[0].samples
        # The console may wake us more often.
        if not last or now - last[-1]["t"] >= _SAMPLE_S * 0.9:
            for sampler in self._samplers:
                sampler.sample()

    def qemu_samples(self):
        """All threads of QEMU."""
        return self._samplers[0].samples

    def samples(self):
        """What serves the disk: the target's process, or QEMU's iothread and the workers that it has."""
        if len(self._samplers) > 1:
            return self._samplers[1].samples
        return [{**s, "threads": {tid: t for tid, t in s["threads"].items() if self._serves(tid, t[0])}}
                for s in self._samplers[0].samples]

    def _serves(self, tid, name):
        # QEMU calls its pool's threads worker, the kernel those of io_uring iou-wrk-N.
        return tid in self._iothreads or name == "worker" or name.startswith("iou-")


def _fetch(box, directory):
    """What the guest left in the mailbox goes into DIRECTORY; nothing if it left nothing."""
    try:
        with tarfile.open(box, "r:") as mail:
            for member in mail:
                if member.isfile():
                    (directory / os.path.basename(member.name)).write_bytes(mail.extractfile(member).read())
    except tarfile.ReadError:
        return


def _check(said, directory):
    """RunFailed unless the guest came to a good end."""
    status = machine.status(said)
    if status == 0:
        return
    told = said.replace(b"\r", b"").decode(errors="replace").partition(_DONE.decode())
    lines = [line for line in told[2 if status is not None else 0].splitlines()
             if line.strip() and not line.startswith(("GUEST-RC", "[ "))]
    last = f": {lines[-1]}" if lines else ""
    if status is None:
        raise RunFailed(f"the guest came to no end{last or ': it said nothing'} (see {directory / 'console.txt'})")
    raise RunFailed(f"fio in the guest: {process.status(status)}{last}")
