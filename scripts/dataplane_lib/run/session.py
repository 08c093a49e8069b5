# SPDX-License-Identifier: GPL-2.0-only
"""A study from what is checked before its first run to the end of its last one."""

import math
import os
import shlex
import sys
import tempfile
import time
from contextlib import nullcontext, suppress

from .. import files, paths, units
from ..host import cpus, system
from ..model import device, jobfile, metrics, peers, server, targets
from ..read import fiojson, store
from . import again, client, jobcheck, order, private, progress, runner
from ..errors import NotMeasured, Refused

# What a run costs beside ramp and runtime, before one has been timed; that of a guest has to boot.
_OVERHEAD_S, _BOOT_S = 0.8, 8.0


class Session:
    """A study that is known to run, with the directory PLACE for its result made.

    COURSE (see order.Course) is for who wants other runs, or another order, than the study's rounds. With KEEP_RAW the files
    of each run stay when all is in one file.
    """

    def __init__(self, study, argv, out=None, wanted_cpus=None, course=None, keep_raw=False):
        self.keep_raw = keep_raw
        self.study = study
        system.require_modules()
        self.pinning = _pinning(study, wanted_cpus)
        facts = system.facts()
        peers.skip_missing(study)
        for sentence in peers.skipped_words(study.skipped):
            _say(sentence)
        arms = study.arms()
        _check_targets(study, arms)
        if self.pinning.fio is not None:
            paths.built("tools", "rtt")
        if self.pinning.pinned and self.pinning.rest:
            os.sched_setaffinity(0, self.pinning.rest)
        # Nothing is at these places yet: the directory is made when all is known to run.
        jobcheck.check(arms, runner.Runner(study, self.pinning, paths.results()).job_of, bool(study.clients))
        client.reach(study.clients)
        if study.file:
            facts["scratch files"] = f"{tempfile.gettempdir()} ({system.file_system(tempfile.gettempdir())}), {'data' if study.fill else 'holes'}"
        facts.update(peers.versions(study))
        self.place = files.result_directory(study.name, out)
        self.course = course or _course(arms, study)
        crowded = "" if self.pinning.pinned else _crowded(study, arms, len(self.pinning.rest or ()))
        self.pinning.note = ". ".join(filter(None, (self.pinning.note, crowded)))
        self.meta = _meta(study, arms, self.pinning, facts, argv)
        self.each = seconds_each(study, arms) + self.course.pause
        self._announce(arms)
        private.clean_up()
        private.announce()
        runner.keep_sources(study, self.place)
        files.write_json(self.place / "meta.json", self.meta)

    def _announce(self, arms):
        runs = self.course.expected
        for line in self.study.job_changes:
            _say(line)
        _say(f"{units.counted(len(arms), 'arm')}, {units.counted(runs, 'run')} of about {self.each:.1f} s: "
             f"{'at least' if self.course.more else 'about'} {units.duration(self.each * runs)}")
        _say(device.described(self.study.settings(), self.study.has_target()))
        if self.pinning.note:
            _say(self.pinning.note)
        hint = self.study.first_of_all()
        if hint:
            _say(hint)
        if paths.elsewhere():
            _say(f"targets and engines are those in {paths.elsewhere()}, as FIO_DATAPLANE says")

    def _too_short(self, iops, arm):
        """A sentence where the highest percentile that is asked for needs longer runs at the rate IOPS, which ARM had; empty otherwise."""
        asked = self.study.percentiles or [p for p in [metrics.percentile_of(self.study.primary)[1]] if p] or metrics.USUAL
        runs = max(self.course.expected - self.study.warmup, 1) / len(self.study.arms())
        needed = metrics.FEWEST_BEYOND * 100 / (100 - max(asked)) / (iops * runs)
        if "runtime" not in self.study.job_variables() or needed <= self.study.runtime:
            return ""
        return (f"p{max(asked):g} needs --runtime {math.ceil(needed)} at the rate of the first run ({arm}: {units.short(iops)} IOPS), "
                f"to have {metrics.FEWEST_BEYOND} I/Os above it")

    def run(self):
        """Every run in its order, and all of them into one file; Refused, or KeyboardInterrupt, where it ended too early.

        Then meta.json says why, and the files of the runs stay.
        """
        self._runs()
        try:
            store.fold(self.place, self.keep_raw)
        except (Refused, OSError) as err:
            self.meta.update(status="failed", reason=str(err) if isinstance(err, Refused) else f"{err.filename}: {err.strerror}")
            raise NotMeasured(self.meta["reason"]) from None

    def _runs(self):
        course, meta, result = self.course, self.meta, self.place
        work = runner.Runner(self.study, self.pinning, result / "raw")
        shown = progress.Progress(course.expected, self.each)
        before, start = system.ticks(), time.monotonic()
        meta["status"], meta["reason"] = "interrupted", "the study was stopped before its end"
        try:
            for slot in course.slots(result, meta):
                shown.total = course.expected
                if course.note:
                    shown.say(f"dataplane: {course.note}")
                    course.note = ""
                shown.begin(slot)
                with course.around(slot):
                    doc = work.run(slot)
                iops = fiojson.figures(doc)["iops"]
                shown.end(f"{units.short(iops)} IOPS")
                if slot.number == 0 and (text := self._too_short(iops, slot.arm.name)):
                    shown.say(f"dataplane: {text}")
            meta["status"] = "complete"
            del meta["reason"]
        except Refused as err:
            meta["status"], meta["reason"] = "failed", str(err)
            raise
        except OSError as err:
            # A disk that is full, most of the time; then nothing may fit behind this either.
            meta["status"], meta["reason"] = "failed", f"{err.filename or result}: {err.strerror}"
            raise NotMeasured(meta["reason"]) from None
        finally:
            shown.close()
            work.close()
            meta["took_s"] = round(time.monotonic() - start, 1)
            meta["steal_percent"] = system.shares(before["cpu"], system.ticks()["cpu"])[1]
            with suppress(OSError) if "reason" in meta else nullcontext():
                files.write_json(result / "meta.json", meta)


def _course(arms, study):
    """The study's rounds; a matrix compares point by point within a round, so no arm of it can have others' rounds."""
    if study.form == "matrix":
        return order.Course(order.schedule(arms, study.repeats, study.warmup, study.seed))
    return again.Rounds(arms, study)


def _pinning(study, wanted):
    """Where both sides run: on WANTED, on CPUs chosen here, or wherever the scheduler puts them."""
    unpinned = wanted == "none" or not (study.pin or wanted)
    pinning = cpus.choose(None if unpinned else wanted)
    if unpinned:
        pinning.wanted, pinning.rest = False, set(os.sched_getaffinity(0))
    return pinning


def _crowded(study, arms, host):
    """A sentence where arms have more jobs and iothreads of our target than HOST, a number of CPUs; empty without."""
    found = []
    for arm in arms:
        setup = study.setup(arm)
        if setup.server.program in (targets.VHOST, targets.NBD) and setup.has_server():
            threads = int(server.options(setup.server.options).get("iothreads") or 1) + jobfile.load(setup.job).filled(setup.variables).jobs
            found += [arm.name] * (threads > host)
    if not found:
        return ""
    return (f"{len(found)} of {len(arms)} arms have more jobs and iothreads than this host has CPUs ({host}): "
            "they show how threads share CPUs, not how they scale; dataplane scale RESULT predicts the latter")


def _say(text):
    print(f"dataplane: {text}", file=sys.stderr, flush=True)


def _meta(study, arms, pinning, facts, argv):
    """What meta.json says before the first run."""
    return {"status": "running", "study": study.settings(), "host": facts,
            "command": shlex.join(["dataplane", *argv]), "seed": study.seed,
            "started": time.strftime("%Y-%m-%d %H:%M:%S"),
            "has_target": study.has_target(),
            "cpus": {"fio": pinning.fio, "target": pinning.target,
                     "pinned": pinning.pinned, "note": pinning.note},
            "arms": [{"name": a.name, "values": a.values, "baseline": a.baseline,
                      "against": a.against} for a in arms]}


def seconds_each(study, arms):
    """What a run will take, the mean over ARMS: more where jobs wait for their turn, or a guest boots."""
    total = 0.0
    for setup in map(study.setup, arms):
        total += _OVERHEAD_S + (_BOOT_S if setup.server.guest() else 0)
        times = {"runtime": f"{study.runtime * 1000:.0f}ms", "ramp": f"{study.ramp * 1000:.0f}ms", **setup.variables}
        total += jobfile.load(setup.job).filled(times).span(study.runtime) * runner.turns(setup, setup.variables)
    return total / len(arms)


def _check_targets(study, arms):
    """Refuse targets that are not built, or do not take an arm's options, before there is a result."""
    asked = set()
    for arm in arms:
        setup = study.setup(arm)
        serving = setup.server.target() if setup.has_server() else None
        if not serving or not serving.program:
            continue
        program = paths.built("targets", serving.program)
        names = {**arm.values, "ncpus": "1", "port": "1"}
        question = (program, setup.job, *(server.fill(word, names) for word in serving.options))
        if question not in asked:
            asked.add(question)
            targets.check_options(program, serving, setup.job, names)
