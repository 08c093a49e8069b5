# SPDX-License-Identifier: GPL-2.0-only
"""Do the runs of a study; everything raw goes to disk, nothing is judged here
but whether a run worked."""

import json
import os
import select
import shlex
import shutil
import tempfile
import time
from pathlib import Path

from . import cpu, fiojson, paths, process, rtt
from .errors import RunFailed
from .study import merge_options

_SAMPLE_S = 0.1
_PATIENCE_S = 60.0


def write_json(path, data):
    """Write DATA to PATH, whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(data, indent=1) + "\n")
    part.replace(path)


class Runner:
    """Runs slots of STUDY one by one, each into its own directory under RAW."""

    def __init__(self, study, pinning, raw):
        self.study = study
        self.pinning = pinning
        self.raw = raw

    def run(self, slot):
        """One run. Leaves run.json; raises RunFailed with the reason."""
        directory = self.raw / slot.directory
        directory.mkdir(parents=True)
        record = {"number": slot.number, "arm": slot.arm.name, "values": slot.arm.values,
                  "repeat": slot.repeat, "warmup": slot.warmup, "status": "running",
                  "rtt": {"before": None, "after": None}}
        private = tempfile.mkdtemp(prefix="dataplane-")
        started = time.monotonic()
        try:
            record["rtt"]["before"] = rtt.measure(self.pinning)
            self._pair(slot, directory, private, record)
            record["rtt"]["after"] = rtt.measure(self.pinning)
            record["status"] = "complete"
        except RunFailed as err:
            record["status"] = "failed"
            record["reason"] = str(err)
            raise RunFailed(f"{slot.arm.name}, run {slot.number}: {err} (see {directory})") from None
        except KeyboardInterrupt:
            record["status"] = "interrupted"
            raise
        finally:
            record["wall_s"] = round(time.monotonic() - started, 3)
            write_json(directory / "run.json", record)
            shutil.rmtree(private, ignore_errors=True)
        return fiojson.load(directory / "fio.json")

    def _pair(self, slot, directory, private, record):
        """Target up, fio through, target down."""
        socket = os.path.join(private, "s")
        variables, options = self.study.split(slot.arm)
        target = None
        with open(directory / "target.err", "wb") as err:
            try:
                if self.study.has_target():
                    argv = self._target_argv(slot.arm, options, socket, directory)
                    record["target"] = shlex.join(argv)
                    target = process.spawn(argv, self._cpus("target"), stdout=err, stderr=err)
                    process.wait_listening(target, socket)
                self._fio(variables, socket, directory, record, target)
            except RunFailed as failure:
                said = process.last_line(directory / "target.err")
                raise RunFailed(f"{failure}{': ' + said if said else ''}") from None
            finally:
                if target:
                    process.stop(target)
        if target and target.returncode and self.study.program:
            raise RunFailed(f"target: {process.status(target.returncode)} "
                            + process.last_line(directory / "target.err"))

    def _cpus(self, side):
        if not self.pinning.pinned:
            return None
        return {getattr(self.pinning, side)}

    def _target_argv(self, arm, options, socket, directory):
        study = self.study
        if study.command is not None:
            names = {"socket": socket, "uri": f"nbd+unix:///?socket={socket}", **arm.values}
            out = []
            for word in study.command:
                for name, value in names.items():
                    word = word.replace(f"{{{name}}}", value)
                out.append(word)
            return out
        argv = [str(paths.built("targets", study.program)), "--socket", socket]
        argv += ["--stats", str(directory / "target-stats.json")]
        if self.pinning.pinned:
            argv += ["--cpus", str(self.pinning.target)]
        return argv + merge_options(study.options, options)

    def _fio(self, variables, socket, directory, record, target):
        """fio on the job; samples the target's CPU meanwhile."""
        used = self.study.job_variables()
        fio_cpus = (str(self.pinning.fio) if self.pinning.pinned
                    else ",".join(map(str, sorted(self.pinning.rest))))
        ours = {"FIO_DATAPLANE": str(paths.dataplane_dir()), "socket": socket,
                "uri": f"nbd+unix:///?socket={socket}", "fio_cpus": fio_cpus,
                "dp_stats": str(directory / "engine"),
                "runtime": f"{round(self.study.runtime * 1000)}ms",
                "ramp": f"{round(self.study.ramp * 1000)}ms", **variables}
        argv = ["fio", "--output-format=json+", f"--output={directory / 'fio.json'}",
                str(self.study.job)]
        record["fio"] = shlex.join(argv)
        record["environment"] = ours
        # A job file that does not pin itself is pinned from outside.
        cpus = None if "fio_cpus" in used else self._cpus("fio")
        pair = (self.pinning.fio, self.pinning.target) if self.pinning.pinned else ()
        sampler = cpu.Sampler(target.pid, pair) if target else None
        with open(directory / "fio.err", "wb") as err:
            fio = process.spawn(argv, cpus, stdout=err, stderr=err,
                                env={**os.environ, **ours})
            try:
                self._wait(fio, target, sampler, "runtime" in used)
            finally:
                process.stop(fio)
        offset = time.time() - time.monotonic()
        record["fio_status"] = fio.returncode
        if sampler:
            record["clock_offset_s"] = offset
            (directory / "cpu.json").write_text(json.dumps(sampler.samples) + "\n")
        if fio.returncode:
            raise RunFailed(f"fio: {process.status(fio.returncode)} "
                            + process.last_line(directory / "fio.err"))
        fiojson.load(directory / "fio.json")

    def _wait(self, fio, target, sampler, timed):
        """Until fio ends; RunFailed if the target ends first or fio never does."""
        limit = time.monotonic() + _PATIENCE_S + (
            self.study.runtime + self.study.ramp if timed else 3600)
        poll = select.poll()
        handles = [os.pidfd_open(fio.pid)]
        if target:
            handles.append(os.pidfd_open(target.pid))
        for handle in handles:
            poll.register(handle, select.POLLIN)
        try:
            while fio.poll() is None:
                poll.poll(_SAMPLE_S * 1000)
                if sampler:
                    sampler.sample()
                if target and target.poll() is not None and fio.poll() is None:
                    raise RunFailed(f"target ended during the run, {process.status(target.returncode)}")
                if time.monotonic() > limit:
                    raise RunFailed("fio is stuck: it did not end in time")
        finally:
            for handle in handles:
                os.close(handle)


def keep_sources(study, out):
    """Copy the job file, and the study file if there is one, beside the result."""
    shutil.copyfile(study.job, out / "job.fio")
    if study.source:
        shutil.copyfile(study.source, out / "study.toml")


def free_directory(base, name):
    """BASE/DATE-NAME, with -2, -3 … where that is taken."""
    stem = f"{time.strftime('%Y-%m-%d')}-{name}"
    for n in range(1, 10000):
        path = Path(base) / (stem if n == 1 else f"{stem}-{n}")
        if not path.exists():
            return path
    raise RunFailed(f"{base}: no free name for {stem}")
