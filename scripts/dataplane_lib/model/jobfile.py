# SPDX-License-Identifier: GPL-2.0-only
"""fio job files: the one place that reads them, by fio's own rules (init.c, __parse_jobs_ini(); HOWTO, "Job file format").

A line is a [section], an option, or an include. A semicolon or # starts a comment anywhere in it, and no line goes on in
the next one. A section whose name begins with "global" sets options of the jobs after it. An included file has no
sections; it is looked for in the current directory, then beside the file that includes it. Bytes that are not UTF-8 are kept.
"""

import itertools
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import Refused

_BLANKS = " \t\n\v\f\r"
# What fio cuts off the end of a line: blanks and control characters.
_ENDS = "".join(map(chr, range(32))) + "\x7f "
_LONGEST_NAME = 255
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# What an engine of this project is called, in whatever directory.
ENGINES = ("nbd.so", "vhost-user-blk.so", "virtio-poll.so")
_ALIASES = {"wait_for_previous": "stonewall", "timeout": "runtime", "readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange",
            "blockalign": "ba", "io_limit": "io_size", "fill_fs": "fill_device", "iomem": "mem"}
_TIMES = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"([0-9]+)([kmgtp]?)(?:i?b)?", re.I)
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
# Names that a result has a use for of its own.
_RESERVED = {"job.fio", "study.toml", "result.json", "result.csv", "report.html", "plot.svg", "plot.png", "stages.svg", "stages.png", "meta.json", "runs.jsonl.xz", "raw"}


@dataclass(frozen=True)
class Option:
    """A line "NAME=VALUE"; VALUE is None where there is no "=". PLACE is its file and line, for messages."""
    name: str
    value: str | None
    place: str = ""

    @property
    def text(self):
        return self.name if self.value is None else f"{self.name}={self.value}"

    @property
    def key(self):
        """The name that fio's manual has first."""
        return _ALIASES.get(self.name, self.name)

    @property
    def names(self):
        """Names of the ${variables} that it uses."""
        return set(_VARIABLE.findall(self.text))

    def filled(self, values):
        """The Options that this is with each ${NAME} replaced that VALUES has: several where a value has lines."""
        return [_option(line, self.place) for line in fill(self.text, values).split("\n") if line] if self.names else [self]


@dataclass
class Section:
    """A job; OPTIONS are those that count for it, those of [global] first, so that of two the last one holds."""
    name: str
    options: list

    def option(self, name):
        """The Option NAME that counts, None if there is none."""
        return next((o for o in reversed(self.options) if o.key == name), None)

    def get(self, name, default=None):
        """The value of option NAME; an option without a value is "1"."""
        found = self.option(name)
        if found is None:
            return default
        return "1" if found.value is None else found.value.strip(_BLANKS)

    def is_set(self, name):
        """True where the switch NAME is on."""
        return self.get(name, "0").strip("+") not in ("0", "")

    def whole(self, name, default):
        """Option NAME as a whole number; DEFAULT where there is none, or fio would have to say what it is."""
        text = self.get(name)
        try:
            return default if text is None else int(text, 16 if text.lower().startswith("0x") else 10)
        except ValueError:
            return default

    def seconds(self, name):
        """Option NAME, a time, in seconds; of a range its end. None where there is none, or fio would have to say what it is."""
        text = self.get(name)
        if text is None:
            return None
        number = text.rpartition("-")[2]
        digits = number.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        unit = number[len(digits):].lower()
        return int(digits) * _TIMES[unit] if digits.isdigit() and unit in _TIMES else None

    def bytes(self, name):
        """Option NAME, a size, in bytes as kb_base=1024 has it; None where there is none, or fio would have to say what it is."""
        match = _SIZE.fullmatch(self.get(name, ""))
        return int(match[1]) * _SIZES[match[2].lower()] if match else None

    @property
    def verifies(self):
        """Does it check its data?"""
        return self.get("verify", "0") not in ("0", "null", "")

    @property
    def keeps_data(self):
        """Does it come with data of its own, or an order of its own, that a time limit would cut?"""
        return self.verifies or any(self.get(name) for name in ("read_iolog", "write_iolog", "verify_state_load"))

    @property
    def engine(self):
        """The engine's name, of one in a file the file's: psync, nbd.so; empty where the job leaves it to fio."""
        return os.path.basename(self.engine_path)

    @property
    def is_ours(self):
        """Does it use an engine of this project?"""
        return os.sep in self.engine_path and self.engine in ENGINES

    @property
    def engine_path(self):
        """What ioengine= says, without "external:"."""
        return self.get("ioengine", "").removeprefix("external:")

    @property
    def jobs(self):
        """How many jobs it starts."""
        return max(1, self.whole("numjobs", 1))


@dataclass
class JobFile:
    """A job file and what it includes.

    LINES are (section's name, None) and (section's name, Option) in their order; INCLUDES are (path of a file, number of its
    line, what it includes as written there, the Path that this is).
    """
    path: Path
    lines: list = field(default_factory=list)
    includes: list = field(default_factory=list)

    @property
    def name(self):
        return self.path.name

    @property
    def sections(self):
        """The jobs, each a Section, in their order."""
        usual, out = [], []
        for section, option in self.lines:
            if _is_global(section):
                usual += [option] if option else []
            elif option is None:
                out.append(Section(section, list(usual)))
            else:
                out[-1].options.append(option)
        return out

    @property
    def options(self):
        """Every Option that is written anywhere."""
        return [option for _, option in self.lines if option]

    @property
    def names(self):
        """Names of the ${variables} that it uses."""
        return set().union(*(o.names for o in self.options))

    @property
    def text(self):
        """The whole as fio reads it from one file: comments left out, included files in their places."""
        return "".join(f"[{section}]\n" if option is None else f"{option.text}\n" for section, option in self.lines)

    def edited(self, dropped=lambda option: False, top=(), of_section=lambda section: ()):
        """This job file in one piece: without the Options that DROPPED(option) is true of, with the lines TOP for all jobs, which come
        before all others, and in front of a section's own the lines that OF_SECTION(Section) returns."""
        lines = list(self.lines)
        if top and not (lines and _is_global(lines[0][0])):
            lines.insert(0, ("global", None))
        out, sections = [], iter(self.sections)
        for number, (section, option) in enumerate(lines):
            if option is not None and dropped(option):
                continue
            out.append((section, option))
            more = () if option is not None else top if not number and top else () if _is_global(section) else of_section(next(sections))
            out += [(section, _option(text, "added")) for text in more]
        return JobFile(self.path, out)

    def only(self, names):
        """This job file with the sections called NAMES alone, and what is global."""
        return JobFile(self.path, [(section, option) for section, option in self.lines if _is_global(section) or section in names])

    def traced(self):
        """This job file with dp_trace=${dp_trace} in the sections of our engines."""
        return self.edited(of_section=lambda job: ["dp_trace=${dp_trace}"] if job.is_ours and job.option("dp_trace") is None else ())

    def filled(self, values):
        """This job file with each ${NAME} replaced that VALUES has."""
        lines = [(section, new) for section, option in self.lines for new in (option.filled(values) if option else [None])]
        return JobFile(self.path, lines, self.includes)

    def require_jobs(self):
        """Refuse a file that gives fio nothing to do."""
        if not any(option is None and not _is_global(section) for section, option in self.lines):
            raise Refused(f"{self.path}: no job section: add a line such as [job] (fio runs nothing for [global] alone)")

    def keep(self, out, name):
        """Copy it to OUT/NAME, and what it includes beside it, so that fio runs the copy as it did the original."""
        kept = {self.path: name}
        for *_, path in self.includes:
            if path not in kept:
                kept[path] = _kept_name(path, self.path.parent, {*kept.values(), *_RESERVED})
        for path, place in kept.items():
            lines = path.read_bytes().split(b"\n")
            for of, number, written, included in self.includes:
                found = os.path.normpath(os.path.join(os.path.dirname(place), written))
                if of == path and found != kept[included]:
                    lines[number - 1] = b"include " + os.fsencode(os.path.relpath(kept[included], os.path.dirname(place)))
            (out / place).parent.mkdir(parents=True, exist_ok=True)
            (out / place).write_bytes(b"\n".join(lines))

    def turns(self, usual=None):
        """[(Section, start, end)] in seconds from fio's start, as far as the file says; USUAL is how long a job without runtime= takes.

        END is None for one that ends when it has done its size, or after one of which that is so.
        """
        out = []
        for section in self.sections:
            before = [end for _, _, end in out] if section.is_set("stonewall") else []
            if section.get("wait_for"):
                before += [end for other, _, end in out if other.name == section.get("wait_for")]
            start = max([section.seconds("startdelay") or 0.0, *(b if b is not None else (usual or 0.0) for b in before)])
            runtime = section.seconds("runtime") or usual
            out.append((section, start, None if runtime is None else start + (section.seconds("ramp_time") or 0.0) + runtime))
        return out

    def span(self, usual=None):
        """Seconds from fio's start to the end of its last job, as turns() has them; None where that is not known."""
        ends = [end for _, _, end in self.turns(usual)]
        return None if None in ends else max(ends, default=0.0)

    def in_turn(self):
        """Why not all jobs run at the same time, in words that name the sections; empty where the file has them run together."""
        turns, out = self.turns(1.0), []
        first = min((start for _, start, _ in turns), default=0.0)
        for number, (section, start, _) in enumerate(turns):
            if number and section.is_set("stonewall"):
                out.append(f"[{section.name}] waits for those before it (stonewall)")
            elif section.get("wait_for"):
                out.append(f"[{section.name}] waits for [{section.get('wait_for')}] (wait_for)")
            elif start > first:
                out.append(f"[{section.name}] starts {start - first:g} s after the others (startdelay)")
        return "; ".join(out)

    @property
    def jobs(self):
        """How many jobs fio starts for it."""
        return sum(section.jobs for section in self.sections)


def fill(text, values):
    """TEXT with each ${NAME} replaced that VALUES has; others stay, and so does every other $."""
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), text)


def load(path, first=None):
    """The JobFile at PATH, a Path. FIRST is the directory in which fio would look first for what it includes, usually the current one."""
    out = JobFile(path)
    _read(out, path, None, Path(first) if first else Path.cwd(), [])
    return out


def kept(path):
    """The JobFile at PATH, which JobFile.keep() put there: what it includes is beside it."""
    return load(path, path.parent)


def variables_of(path):
    """Names of the ${variables} that the job file at PATH uses."""
    return load(path).names


def _read(out, path, section, first, above):
    """Put the lines of the file at PATH into OUT; SECTION is that in which it is included, ABOVE the files that led to it."""
    if path in above:
        raise Refused(f"{above[-1]}: include {path}: includes itself")
    for number, line in enumerate(_lines(path), 1):
        text = _stripped(line)
        if text.startswith("["):
            if above:
                raise Refused(f"{path}:{number}: {text}: fio takes no section in an included file: move it to {above[0].name}")
            section = text[1:_LONGEST_NAME + 1][:-1]
            out.lines.append((section, None))
        elif text and section is None:
            raise Refused(f"{path}:{number}: {text}: stands before the first section: put a line [global] above it")
        elif text.startswith("include"):
            written = text[len("include") + 1:]
            found = _included(written, path, first, number)
            out.includes.append((path, number, written, found))
            _read(out, found, section, first, [*above, path])
        elif text:
            out.lines.append((section, _option(text, f"{path.name}:{number}")))


def _option(text, place):
    name, sep, value = text.partition("=")
    return Option(name.rstrip(_BLANKS), value.lstrip(_BLANKS) if sep else None, place)


def _lines(path):
    if path.exists() and not path.is_file():
        raise Refused(f"{path}: not a regular file")
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError as err:
        raise Refused(f"{path}: {err.strerror}") from None


def _stripped(line):
    """LINE as fio sees it, without its comment; empty for one that says nothing."""
    return line.partition(";")[0].partition("#")[0].lstrip(_BLANKS).rstrip(_ENDS)


def _included(written, path, first, number):
    """The file that WRITTEN, in line NUMBER of PATH, names."""
    for found in (first / written, path.parent / written):
        if written and found.exists():
            return found
    raise Refused(f"{path}:{number}: include {written}: no such file, neither in {first} nor in {path.parent}")


def _is_global(section):
    return section.startswith("global")


def _kept_name(path, home, taken):
    """What the included file at PATH is called in a result: as it is below HOME, or by its last name."""
    inside = os.path.relpath(path, home)
    wanted = path.name if inside.startswith("..") else inside
    return next(name for n in itertools.count() if (name := f"{n}-{wanted}" if n else wanted) not in taken)
