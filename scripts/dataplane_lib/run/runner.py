# SPDX-License-Identifier: GPL-2.0-only
"""Do the runs of a study; everything raw goes to disk, nothing is judged here
but whether a run worked."""

import json
import math
import os
import select
import shlex
import shutil
import time

from .. import files, paths
from ..host import cpu, rtt
from ..model import jobfile, server, targets
from ..read import fiojson
from . import client, fio_jobs, guest_run, jobcheck, private, process, scratch
from ..errors import RunFailed

_SAMPLE_S = 0.1
_PATIENCE_S = 60.0


class Runner:
    """Runs slots of STUDY one by one, each into its own directory under RAW."""

    def __init__(self, study, pinning, raw):
        self.study = study
        self.pinning = pinning
        self.raw = raw
        self.scratch = scratch.Scratch(study.file, not study.fill)

    def close(self):
        """Remove what outlives a run."""
        self.scratch.close()

    def run(self, slot):
        """One run. Leaves run.json; raises RunFailed with the reason."""
        directory = self.raw / slot.directory
        directory.mkdir(parents=True)
        record = {"number": slot.number, "arm": slot.arm.name, "values": slot.arm.values,
                  "repeat": slot.repeat, "warmup": slot.warmup, "place": slot.place, "status": "running",
                  "rtt": {"before": None, "after": None}}
        place = private.make()
        started = time.monotonic()
        try:
            record["rtt"]["before"] = rtt.measure(self.pinning)
            self._pair(slot, directory, place, record)
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
            # First, as a disk may be full.
            shutil.rmtree(place, ignore_errors=True)
            files.write_json(directory / "run.json", record)
        return fiojson.load(directory / "fio.json")

    def _pair(self, slot, directory, place, record):
        """Target up, fio through, target down."""
        setup = self.study.setup(slot.arm)
        serving = setup.server.target() if setup.has_server() else None
        names = self._names(setup, slot.arm, place, self.scratch.ready() if self.study.file else "")
        guest = setup.server.guest(names)
        engine_traced, traced = self.study.traces(setup)
        target = None
        with open(directory / "target.err", "wb") as err:
            try:
                if serving:
                    argv = self._target_argv(serving, names, directory, traced)
                    record["target"] = shlex.join(argv)
                    target = process.spawn(argv, self._cpus("target"), stdout=err, stderr=err)
                    process.wait_ready(target, _ready(serving, names))
                if guest:
                    guest_run.run(guest, self, setup.job, self._environment(setup, names, directory), names["socket"],
                                  directory, target, record)
                else:
                    self._fio(setup, names, directory, record, target)
            except RunFailed as failure:
                said = process.last_line(directory / "target.err")
                raise RunFailed(f"{failure}{': ' + said if said else ''}") from None
            finally:
                if target:
                    process.stop(target, serving.signal)
        if target and target.returncode and serving.program:
            raise RunFailed(f"target: {process.status(target.returncode)} "
                            + process.last_line(directory / "target.err"))
        if traced or engine_traced:
            from ..trace import lifecycle  # numpy takes a while, and other studies have no need of it
            files.write_json(directory / lifecycle.FILE, lifecycle.keep(place))

    def job_of(self, arm):
        """What ARM stands for, and the variables of its job file, with places that nothing is at."""
        setup = self.study.setup(arm)
        place = str(self.raw / "private")
        return setup, self._environment(setup, self._names(setup, arm, place, os.path.join(place, "file")), self.raw)

    def _names(self, setup, arm, place, file):
        """What $names in a target's command line stand for."""
        names = {**arm.values, "socket": os.path.join(place, "s"), "dp_trace": os.path.join(place, "trace"),
                 "FIO_DATAPLANE": str(paths.dataplane_dir()), "ncpus": str(len(os.sched_getaffinity(0)) if not self.pinning.pinned else 1)}
        if self.study.file:
            names["file"] = file
        if setup.server.uses("port"):
            names["port"] = str(process.free_port())
        names["uri"] = server.fill(setup.server.uri, names)
        return names

    def watched(self):
        """The CPUs on which others may disturb a run."""
        return (self.pinning.fio, self.pinning.target) if self.pinning.pinned else sorted(self.pinning.rest)

    def _cpus(self, *sides):
        if not self.pinning.pinned:
            return None
        return {getattr(self.pinning, side) for side in sides}

    def _target_argv(self, serving, names, directory, traced):
        if serving.command is not None:
            return [server.fill(word, names) for word in serving.command]
        argv = [str(paths.built("targets", serving.program)), "--socket", names["socket"]]
        argv += ["--stats", str(directory / "target-stats.json")]
        if traced:
            argv += ["--trace", f"{names['dp_trace']}.target"]
        if self.pinning.pinned:
            argv += ["--cpus", str(self.pinning.target)]
        return argv + [server.fill(word, names) for word in serving.options]

    def _environment(self, setup, names, directory):
        """The variables of the job file."""
        fio_cpus = (str(self.pinning.fio) if self.pinning.pinned
                    else ",".join(map(str, sorted(self.pinning.rest))))
        ours = {k: v for k, v in names.items() if k in ("FIO_DATAPLANE", "socket", "uri", "file", "port", "dp_trace")}
        ours.update(fio_cpus=fio_cpus, dp_stats=str(directory / "engine"), iops_log=str(directory / "job"),
                    sample_ms=str(self._sample_ms()), runtime=f"{round(self.study.runtime * 1000)}ms",
                    ramp=f"{round(self.study.ramp * 1000)}ms")
        return {**ours, **{k: server.fill(v, names) for k, v in setup.variables.items()}}

    def _sample_ms(self):
        return round(self.study.sample * 1000)

    def _fio(self, setup, names, directory, record, target):
        """fio on the job; samples the target's CPU meanwhile."""
        job = jobfile.load(setup.job)
        if self.study.trace and not self.study.clients:
            job = _traced(job, directory)
        used = job.names
        ours = self._environment(setup, names, directory)
        argv = ["fio", "--output-format=json+", f"--output={directory / 'fio.json'}"]
        if self.study.clients:
            (directory / "client.fio").write_bytes(client.rewritten(job, ours).encode("utf-8", "surrogateescape"))
            argv += client.arguments(self.study.clients, directory / "client.fio")
        else:
            argv += self._placed(job, ours)
        record["fio"] = shlex.join(argv)
        record["environment"] = ours
        record["sample_ms"] = self._sample_ms()
        inside = bool(targets.embedded(job.filled(ours)))
        cpus = self._cpus("fio", *["target"] * inside) if inside or "fio_cpus" not in used else None
        if "runtime" in used:
            record["runtime_s"] = self.study.runtime
        limit = job.filled(ours).span()
        limit = limit and limit * turns(setup, ours)
        with open(directory / "fio.err", "wb") as err:
            fio = process.spawn(argv, cpus, stdout=err, stderr=err,
                                env={**os.environ, **ours})
            sampler = None if self.study.clients and not target else cpu.Sampler((target or fio).pid, self.watched())
            try:
                record["fio_jobs"] = self._wait(fio, target, sampler, limit)
            finally:
                process.stop(fio)
        offset = time.time() - time.monotonic()
        record["fio_status"] = fio.returncode
        if target:
            record["clock_offset_s"] = offset
            (directory / "cpu.json").write_text(json.dumps(sampler.samples) + "\n")
        if fio.returncode:
            cause = jobcheck.cause(directory, job.filled(ours))
            raise RunFailed(f"fio: {process.status(fio.returncode)}{': ' + cause if cause else ''}")
        doc = fiojson.load(directory / "fio.json")
        if self.study.clients:
            client.check(doc, self.study.clients)
            record["ended_s"] = client.ended(sampler.samples if sampler else []) or time.monotonic()
        elif not target:
            record["neighbours"] = _neighbours(sampler.samples, doc["timestamp_ms"] / 1000 - offset, fiojson.runtime_ms(doc) / 1000)

    def _placed(self, job, values):
        """fio's arguments that run JOB, and pin it where it does not do so itself.

        The engine puts a target inside it on a CPU that fio may use and the job does not (via-embedded.c), so in that
        case it is the job that is pinned, not fio.
        """
        inside = targets.embedded(job.filled(values))
        if inside and self.pinning.pinned and "fio_cpus" not in job.names:
            return [f"--cpus_allowed={self.pinning.fio}", str(job.path)]
        return [str(job.path)]

    def _wait(self, fio, target, sampler, expected):
        """Until fio ends: when its jobs were there; RunFailed if the target ends first or fio takes far more than EXPECTED seconds."""
        limit = time.monotonic() + _PATIENCE_S + (3600 if expected is None else expected)
        poll = select.poll()
        handles = [os.pidfd_open(fio.pid)]
        if target:
            handles.append(os.pidfd_open(target.pid))
        for handle in handles:
            poll.register(handle, select.POLLIN)
        jobs = fio_jobs.Watch(fio.pid, poll)
        try:
            while fio.poll() is None:
                poll.poll(_SAMPLE_S * 1000)
                jobs.look()
                if sampler:
                    sampler.sample()
                if target and target.poll() is not None and fio.poll() is None:
                    raise RunFailed(f"target ended during the run, {process.status(target.returncode)}")
                if time.monotonic() > limit:
                    raise RunFailed("fio is stuck: it did not end in time")
        finally:
            seen = jobs.close()
            for handle in handles:
                os.close(handle)
        return seen


def _traced(job, directory):
    """JOB, a JobFile, or a copy of it in DIRECTORY whose engines write traces, where it has some that do not."""
    copy = job.traced()
    if copy.lines == job.lines:
        return job
    copy.path = directory / "traced.fio"
    copy.path.write_bytes(copy.text.encode("utf-8", "surrogateescape"))
    return copy


def _neighbours(samples, end, runtime):
    """% of a CPU that others than fio used where it ran, from SAMPLES of it, in the part of a run up to END that is neither start nor end."""
    inside = cpu.steady(end, runtime)
    ours = cpu.window(samples, *inside)
    everybody = cpu.busy(samples, *inside)
    if ours is None or not everybody:
        return 0.0
    return max(0.0, sum(everybody.values()) - sum(t["user"] + t["system"] for t in ours.values()))


def _ready(serving, names):
    """The test that says whether a target may be used."""
    if serving.ready == "connect" or "port" in names:
        place = int(names["port"]) if "port" in names else names["socket"]
        return lambda: process.connects(place)
    return lambda: process.listening(names["socket"])


def turns(setup, environment):
    """How many rounds it takes until a server of few clients has had all jobs."""
    if not setup.server.clients:
        return 1
    return math.ceil(jobfile.load(setup.job).filled(environment).jobs / setup.server.clients)


def keep_sources(study, out):
    """Copy the job files, and the study file if there is one, beside the result."""
    for job in study.jobs():
        jobfile.load(job).keep(out, "job.fio" if job == study.job else job.name)
    if study.source:
        shutil.copyfile(study.source, out / "study.toml")
