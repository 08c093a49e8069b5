# SPDX-License-Identifier: GPL-2.0-only
"""A study from first run to report."""

import importlib
import os
import shlex
import sys
import tempfile
import time
from contextlib import nullcontext, suppress
from pathlib import Path

from .. import paths, units
from ..host import cpus, system
from ..judge import summary
from ..model import peers, server, targets
from ..read import digest, fiojson
from ..report import page, plot, table, verdict_table
from . import client, jobcheck, order, progress, runner
from ..errors import Refused

# Studies that are told in a way of their own: the module whose tell() puts sentences and tables into result["told"].
FORMS = {"match": "judge.match_report", "matrix": "judge.matrix_report", "lifecycle": "trace.lifecycle"}
# What a run costs beside ramp and runtime, before one has been timed; that of a guest has to boot.
_OVERHEAD_S, _BOOT_S = 0.8, 8.0


def execute(study, argv, out=None, wanted_cpus=None, course=None):
    """Run STUDY and report it; returns the result's directory.

    COURSE (see order.Course) is for who wants other runs, or another order, than the study's rounds.
    """
    unpinned = wanted_cpus == "none" or not (study.pin or wanted_cpus)
    pinning = cpus.choose(None if unpinned else wanted_cpus)
    if unpinned:
        pinning.wanted, pinning.rest = False, set(os.sched_getaffinity(0))
    facts = system.facts()
    peers.skip_missing(study)
    for sentence in peers.skipped_words(study.skipped):
        print(f"dataplane: {sentence}", file=sys.stderr)
    arms = study.arms()
    _check_targets(study, arms)
    if pinning.fio is not None:
        paths.built("tools", "rtt")
    if pinning.pinned and pinning.rest:
        os.sched_setaffinity(0, pinning.rest)
    # Nothing is at these places yet: the directory is made when all is known to run.
    jobcheck.check(arms, runner.Runner(study, pinning, paths.results()).job_of, bool(study.clients))
    client.reach(study.clients)
    if study.file:
        facts["scratch files"] = f"{tempfile.gettempdir()} ({system.file_system(tempfile.gettempdir())})"
    facts.update(peers.versions(study))
    result = directory(study.name, out)
    course = course or order.Course(order.schedule(arms, study.repeats, study.warmup))
    meta = _meta(study, arms, pinning, facts, argv)
    each = seconds_each(study, arms) + course.pause
    print(f"dataplane: {_counted(len(arms), 'arm')}, {_counted(course.expected, 'run')} of about {each:.1f} s: "
          f"{'at least' if course.more else 'about'} {units.duration(each * course.expected)}", file=sys.stderr, flush=True)
    hint = study.first_of_all()
    if hint:
        print(f"dataplane: {hint}", file=sys.stderr)
    if paths.elsewhere():
        print(f"dataplane: targets and engines are those in {paths.elsewhere()}, as FIO_DATAPLANE says", file=sys.stderr)
    runner.keep_sources(study, result)
    runner.write_json(result / "meta.json", meta)
    try:
        _rounds(study, pinning, course, result, meta, each)
    except (Refused, KeyboardInterrupt):
        with suppress(OSError):
            page.write_refused(meta, meta["reason"], result / "report.html")
        raise
    report(result)
    return result


def _meta(study, arms, pinning, facts, argv):
    """What meta.json says before the first run."""
    return {"status": "running", "study": study.settings(), "host": facts,
            "command": shlex.join(["dataplane", *argv]),
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
        total += (study.ramp + study.runtime) * runner.turns(setup, setup.variables)
    return total / len(arms)


def _counted(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


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


def directory(name, out):
    """The directory of a result called NAME, made now: --out must be new or empty."""
    if not out:
        try:
            return runner.new_directory(paths.results(), name).resolve()
        except OSError as err:
            raise Refused(f"{err.filename}: {err.strerror}; --out DIR puts the result elsewhere") from None
    path = Path(out)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refused(f"--out {out}: exists and is not an empty directory")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise Refused(f"--out {path}: {err.strerror}") from None
    return path.resolve()


def _rounds(study, pinning, course, result, meta, each):
    """Every run in its order; meta.json says how it ended."""
    work = runner.Runner(study, pinning, result / "raw")
    shown = progress.Progress(course.expected, each)
    before, start = system.ticks(), time.monotonic()
    meta["status"], meta["reason"] = "interrupted", "the study was stopped before its end"
    try:
        for slot in course.slots(result, meta):
            shown.total = course.expected
            shown.begin(slot)
            with course.around(slot):
                doc = work.run(slot)
            shown.end(f"{units.short(fiojson.figures(doc)['iops'])} IOPS")
        meta["status"] = "complete"
        del meta["reason"]
    except Refused as err:
        meta["status"], meta["reason"] = "failed", str(err)
        raise
    except OSError as err:
        # A disk that is full, most of the time; then nothing may fit behind this either.
        meta["status"], meta["reason"] = "failed", f"{err.filename or result}: {err.strerror}"
        raise Refused(meta["reason"]) from None
    finally:
        shown.close()
        meta["took_s"] = round(time.monotonic() - start, 1)
        meta["steal_percent"] = system.shares(before["cpu"], system.ticks()["cpu"])[1]
        with suppress(OSError) if "reason" in meta else nullcontext():
            runner.write_json(result / "meta.json", meta)


def write(result, place):
    """Every form of the report on RESULT, a digest, into PLACE."""
    from ..report import percentiles  # scipy takes a while, and other commands have no need of it
    runner.write_json(place / "result.json", result)
    table.write_csv(result, place / "result.csv")
    pictures = plot.draw(result, place / "plot.svg", place / "plot.png")
    page.write(result, pictures + percentiles.for_page(result, place), place / "report.html")


def report(place):
    """Digest the raw files of a result, write every form of the report, print it."""
    try:
        result = digest.digest(place)
    except Refused as err:
        # A page of better days must not stay.
        with suppress(OSError):
            page.write_refused(digest.read_json(place / "meta.json"), str(err).removeprefix(f"{place}: refused: "), place / "report.html")
        raise
    if "ab" in result:
        from ..judge import gate  # scipy takes a while, and other reports have no need of it
        gate.judge(result, place)
    form = result["study"].get("form")
    if form:
        importlib.import_module(f"dataplane_lib.{FORMS[form]}").tell(result)
    write(result, place)
    print(result["study"]["title"] or result["study"]["name"])
    print()
    if "verdict" in result:
        print("\n".join(verdict_table.lines(result)))
    elif "told" in result:
        print("\n".join(table.told(result)))
    else:
        print("\n".join([*table.terminal(result), "", *(f"* {text}" for text in summary.sentences(result))]))
    for text in result["warnings"]:
        print(f"! {text}")
    if result["rtt_ns"]:
        print(f"  cache-line round trip between CPUs {result['cpus']['fio']} and "
              f"{result['cpus']['target']}: {result['rtt_ns']:.0f} ns (median)")
    print(f"report: {place / 'report.html'}")
