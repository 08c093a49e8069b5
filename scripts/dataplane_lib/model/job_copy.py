# SPDX-License-Identifier: GPL-2.0-only
"""A job as somebody has it, made into a copy that runs on a target and can be compared: what is changed, and what is in the way.

What a job asks of the device stays as it is. What goes are its engine, the files that it names, and what belongs to those; what comes
is what a comparison needs: total latency, and a time that is the same for all arms.
"""

from dataclasses import dataclass, field

from .. import paths
from . import fio_options, jobfile
from ..errors import Faults

# fio's engines that wait for each I/O, whatever iodepth says; the one that a job gets without ioengine= is among them.
_SYNC = {"", "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libpmem", "dev-dax", "pmemblk"}
_ASYNC = {"libaio", "posixaio", "solarisaio", "windowsaio", "io_uring", "io_uring_cmd", "sg", "xnvme", "libblkio", "rbd", "libiscsi"}
# Those that do something else than I/O on a device.
_OTHER = {"cpuio", "net", "netsplice", "rdma", "exec", "ftruncate", "filecreate", "filestat", "filedelete", "falloc", "e4defrag", "gfapi",
          "gfapi_async", "mtd", "rados", "http", "libhdfs", "nfs", "null"}
# What our engines' names are short for.
ENGINES = {"vhost-user-blk": ("ioengine=external:${FIO_DATAPLANE}/engines/vhost-user-blk.so", "socket=${socket}"),
           "virtio-poll": ("ioengine=external:${FIO_DATAPLANE}/engines/virtio-poll.so", "transport=vhost-user", "socket=${socket}"),
           "nbd": ("ioengine=external:${FIO_DATAPLANE}/engines/nbd.so", "uri=${uri}")}
# Options about files, the page cache and the way to a device, none of which a target has.
_FILES = {"filename", "directory", "filename_format", "unique_filename", "nrfiles", "openfiles", "file_service_type", "filesize", "opendir",
          "create_serialize", "create_fsync", "create_on_open", "create_only", "pre_read", "unlink", "unlink_each_loop", "fallocate", "fadvise_hint",
          "allow_mounted_write", "lockfile", "file_append", "overwrite", "ioscheduler", "direct", "buffered", "atomic", "invalidate", "io_submit_mode",
          "mem", "hugepage-size", "lockmem"}
# Where a job runs is chosen for both sides together, and a log would be written anew by every run.
_PLACES = {"cpus_allowed", "cpumask", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy"}
_LOGS = {"write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"}
_UNTIMED = {"gtod_reduce", "disable_lat"}
# What ends a job before its time.
_ENDS = {"number_ios", "loops", "fill_device"}


@dataclass
class Wanted:
    """What is to be made of a job.

    ENGINE is one of ENGINES for all sections, USUAL one for those that use an engine of fio's own if the job is to have a
    target (HOSTED). FREE are options that get their value by a variable. RUNTIME and RAMP are what was asked for on the command line, in s or None;
    USUAL_TIMES are both for a job that says nothing either. VALUES are what ${variables} will be, as far as is known;
    DEVICE is how large the device is in bytes where nothing can be done about it.
    """
    engine: str | None = None
    usual: str = "vhost-user-blk"
    hosted: bool = False
    free: list = field(default_factory=list)
    sections: list = field(default_factory=list)
    runtime: float | None = None
    ramp: float | None = None
    usual_times: tuple = (2.0, 0.3)
    values: dict = field(default_factory=dict)
    device: int | None = None


@dataclass
class Copy:
    """JOB is the copy, the JobFile itself where nothing is changed; CHANGES say what was, DROPPED which options went.

    RUNTIME and RAMP are the job's own times in s, None where it leaves them to others; BYTES is how large a device has to be for it, as far as is known.
    """
    job: jobfile.JobFile
    changes: list
    dropped: list
    runtime: float | None
    ramp: float | None
    bytes: int | None
    verifies: bool

    def told(self, name):
        """'job.fio: copy with …; without …'."""
        parts = ["copy with " + ", ".join(self.changes)] if self.changes else []
        parts += [("without " if parts else "copy without ") + ", ".join(self.dropped)] if self.dropped else []
        return f"{name}: {'; '.join(parts)}" if parts else ""


def made(job, wanted):
    """The Copy of JOB, a JobFile, that is WANTED; Refused with all that is in the way."""
    faults = Faults()
    original, job = job, _chosen(job, wanted, faults)
    maker = _Maker(job, wanted, faults)
    faults.raise_any()
    copy = maker.copy()
    changed = copy.lines != original.lines
    return Copy(copy if changed else original, maker.changes, maker.told_dropped(), *maker.times, maker.bytes(), any(s.verifies for s in job.sections))


def _chosen(job, wanted, faults):
    """JOB with the sections that are wanted; one that has none gets one."""
    names = [section.name for section in job.sections]
    for name in wanted.sections:
        if name not in names:
            faults.add(f"--section {name}: {job.name} has no such section; accepted: {', '.join(names) or 'none'}")
    if wanted.sections:
        return job.only(wanted.sections)
    if not names and job.lines:
        return jobfile.JobFile(job.path, [*job.lines, ("job", None)])
    return job


class _Maker:
    """The changes of a JobFile, found section by section."""

    def __init__(self, job, wanted, faults):
        self.job, self.wanted = job, wanted
        self.changes, self.dropped = [], {}
        self.sections = job.sections
        if not job.lines or not self.sections:
            job.require_jobs()
        self.engines = [self._engine(s) for s in self.sections]
        self._check(faults)
        self.times = self._times()

    # -- engines

    def _engine(self, section):
        """Which of ENGINES a section gets, None for the one that it has."""
        if self.wanted.engine:
            return self.wanted.engine
        other = not section.is_ours and section.engine != "nbd" and section.engine != "noop.so" and section.engine not in _OTHER
        return self.wanted.usual if other and self.wanted.hosted and not self.job.names & {"socket", "uri"} else None

    def _check(self, faults):
        """Add all that is in the way to FAULTS."""
        name = self.job.name
        for section in self.sections:
            if section.engine in _OTHER and (self.wanted.engine or self.wanted.hosted) and section.engine != "null":
                faults.add(f"{name}: [{section.name}]: ioengine={section.engine} does no I/O on a block device{self._hint()}")
            if section.get("zonemode") == "zbd" and any(self.engines):
                faults.add(f"{name}: [{section.name}]: zonemode=zbd needs a zoned device, which no target is (zonemode=strided works)")
            if section.is_set("create_only") or section.is_set("verify_only"):
                faults.add(f"{name}: [{section.name}]: {'create_only' if section.is_set('create_only') else 'verify_only'} does no I/O that could be compared")
            if section.get("profile"):
                faults.add(f"{name}: [{section.name}]: profile= brings a job of its own")
        why = self.job.in_turn()
        if why:
            faults.add(f"{name}: jobs do not run at the same time, so their figures cannot be added up: {why}{self._hint()}")
        self._check_parts(faults)

    def _hint(self):
        return f"; choose with --section: {', '.join(s.name for s in self.sections)}" if len(self.sections) > 1 else ""

    def _check_parts(self, faults):
        """Jobs that check their data must not write into each other's."""
        if self._shared() and any(s.bytes("size") is None and s.bytes("filesize") is None for s in self.sections):
            faults.add(f"{self.job.name}: jobs with verify= and a file each need size=, such as size=64m, to get a part of the device each")

    def _shared(self):
        """True where jobs with files of their own come to share a device, and would find each other's data."""
        if not any(self.engines) or not any(s.verifies for s in self.sections) or self.job.jobs < 2:
            return False
        return not any(s.get("filename") or s.get("offset") or s.get("offset_increment") for s in self.sections)

    # -- times

    def _times(self):
        """(runtime, ramp) of the job's own in s, of the timed sections where they agree on it."""
        timed = [s for s in self.sections if not s.keeps_data]
        found = [{s.seconds(name) for s in timed if s.seconds(name)} for name in ("runtime", "ramp_time")]
        return tuple(next(iter(each)) if len(each) == 1 else None for each in found)

    def _timed(self, section):
        """The lines about time that a section lacks."""
        if section.keeps_data:
            return []
        out = []
        for name, variable, wanted in (("runtime", "runtime", self.wanted.runtime), ("ramp_time", "ramp", self.wanted.ramp)):
            text = section.get(name, "")
            if "${" + variable + "}" not in text and (wanted is not None or not (section.seconds(name) or "${" in text or (text == "0" and name == "ramp_time"))):
                out.append(f"{name}=${{{variable}}}")
        if not section.is_set("time_based"):
            out.insert(0, "time_based=1")
        return out

    # -- the copy

    def _lines(self, section, engine, part):
        """(lines that a section needs, keys that it must not have) for the copy."""
        lines, gone = [], set()
        if engine:
            lines += ENGINES[engine]
            new = fio_options.options_of(_path(lines[0]))
            gone |= {"ioengine", *(line.partition("=")[0] for line in lines[1:]), *_FILES, *_PLACES}
            if section.engine != engine + ".so":
                gone |= fio_options.options_of(_path(section.get("ioengine", ""))) - new
            if section.engine in _SYNC and "iodepth" not in self.wanted.free and section.get("iodepth", "1") != "1":
                lines.append("iodepth=1")
            if section.bytes("filesize") and not section.get("size") and not self.wanted.device:
                lines.append(f"size={section.get('filesize')}")
            lines += part
            if self.wanted.device and (self.bytes() or 0) > self.wanted.device:
                gone |= {"size", "filesize", "offset", "offset_increment"}
        if not section.is_set("lat_percentiles"):
            lines.append("lat_percentiles=1")
        gone |= {name for name in _UNTIMED if section.is_set(name)}
        if engine or self.wanted.free or not section.is_ours:
            gone |= {name for name in _LOGS if section.get(name) and not section.option(name).names}
        timed = self._timed(section)
        lines += timed
        if not section.keeps_data and timed:
            gone |= _ENDS
        return lines, gone

    def _parts(self):
        """Lines by section that give each job a part of the device."""
        out, at = [], 0
        for section in self.sections:
            if not self._shared():
                out.append([])
                continue
            size = section.bytes("size") or section.bytes("filesize")
            out.append([f"offset={at}", f"offset_increment={size}"] if section.jobs > 1 else [f"offset={at}"])
            at += size * section.jobs
        return out

    def copy(self):
        """The JobFile that is made."""
        needed = [self._lines(*each) for each in zip(self.sections, self.engines, self._parts())]
        gone = set().union(*(g for _, g in needed))
        for lines, _ in needed:
            gone |= {line.partition("=")[0] for line in lines}
        gone |= set(self.wanted.free)
        # What goes in all sections because of one stays with those that are to keep it.
        common = [line for line in needed[0][0] if all(line in lines for lines, _ in needed)]
        by_section = {}
        for section, (lines, without) in zip(self.sections, needed):
            mine = {line.partition("=")[0] for line in lines} | without | set(self.wanted.free)
            kept = [o.text for o in _last(section) if o.key in gone - mine and o.key not in {c.partition("=")[0] for c in common}]
            by_section.setdefault(section.name, []).append([line for line in lines if line not in common] + kept)
        self._tell(needed, gone)
        top = common + [f"{name}=${{{name}}}" for name in self.wanted.free]
        return self.job.edited(lambda option: option.key in gone, top, lambda section: by_section[section.name].pop(0))

    def _tell(self, needed, gone):
        """Say what is changed and why, once for all sections."""
        told = {}
        for section, (lines, without) in zip(self.sections, needed):
            for line in lines:
                name, _, value = line.partition("=")
                if name == "ioengine":
                    told.setdefault(f"ioengine={_short(value)}", []).append(section.engine or "fio's default, psync")
                elif name not in ("socket", "uri", "transport"):
                    was = _was(section) if name == "runtime" and not section.get("runtime") else section.get(name)
                    if name == "iodepth":
                        was = f"{was}, but {section.engine or 'psync'} waits for each I/O"
                    told.setdefault(self._shown(line), []).append(was or "")
            for name in sorted(without - {"ioengine"}):
                if section.option(name) and name not in {line.partition("=")[0] for line in lines}:
                    self.dropped[name] = True
        for name in self.wanted.free:
            values = dict.fromkeys(s.get(name) for s in self.sections if s.get(name))
            told[f"{name}=${{{name}}}"] = list(values) or [""]
        for line, was in told.items():
            was = [w for w in dict.fromkeys(was) if w]
            self.changes.append(line + (f" (was {', '.join(was)})" if was else ""))

    def _shown(self, line):
        """A line as it is told: times by their value."""
        for variable, asked, own, usual in zip(("runtime", "ramp"), (self.wanted.runtime, self.wanted.ramp), self.times, self.wanted.usual_times):
            value = next(v for v in (asked, own, usual) if v is not None)
            line = line.replace(f"${{{variable}}}", f"{value:g}s")
        return line

    def told_dropped(self):
        """Names of options that went and that the job had."""
        return list(self.dropped)

    def bytes(self):
        """How large a device has to be for all jobs, None where that is not known."""
        most = 0
        for section, part in zip(self.job.filled(self.wanted.values).sections, self._parts()):
            placed = dict(line.split("=") for line in part)
            size = section.bytes("size") or section.bytes("filesize")
            if not size:
                continue
            offset = int(placed.get("offset", 0)) or section.bytes("offset") or 0
            step = int(placed.get("offset_increment", 0)) or section.bytes("offset_increment") or 0
            most = max(most, offset + step * (section.jobs - 1) + size)
        return most or None


def _last(section):
    """The Options of a section that count, one of a name."""
    return {o.key: o for o in section.options}.values()


def _was(section):
    """What a job without a time limit would have done: 'size=1G once'."""
    said = [section.option(name).text for name in ("size", "io_size", "number_ios", "loops") if section.get(name)]
    return f"{' '.join(said) or 'the whole device'} once"


def _path(engine):
    """ioengine= as fio --enghelp takes it."""
    return engine.removeprefix("ioengine=").replace("${FIO_DATAPLANE}", str(paths.dataplane_dir()))


def _short(engine):
    return engine.rpartition("/")[2].removesuffix(".so")
