# SPDX-License-Identifier: GPL-2.0-only
"""dataplane selfcheck: does what is installed here carry data? Each engine writes to a target and reads all of it back."""

import json
import os
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass

from .. import paths
from . import for_json
from ..errors import NOT_MEASURED, NotMeasured, Refused

_VHOST, _NBD = "vhost-user-blk-target", "nbd-target"
_SIZE, _BLOCK = 4 << 20, 4096
# A pair takes well under a second; a crowded machine, ten times that.
_PATIENCE_S = 60
_FIO = ["fio", "--name=selfcheck", "--rw=randwrite", f"--bs={_BLOCK}", f"--size={_SIZE}", "--iodepth=8", "--verify=crc32c",
        "--verify_fatal=1", "--randrepeat=1", "--output-format=json", "--output=fio.json"]


@dataclass(frozen=True)
class Pair:
    """An engine with its options, and the target, if it needs one, with its own. A $file is a file of the size of the device."""
    engine: str
    words: str
    target: str = ""
    options: str = "--backend ram --size 4M"

    @property
    def name(self):
        """The pair, as its line has it."""
        if not self.target:
            return f"{self.engine} with a target embedded"
        return " ".join(filter(None, (self.engine, _shown(self.words), "on", self.target, self.options)))


def _shown(words):
    return " ".join(w.removeprefix("--") for w in words.split() if "$" not in w)


_FILE = "--backend file:$file --aio"
_PAIRS = (
    *(Pair("vhost-user-blk", f"--socket=$socket --wait_mode={mode}", _VHOST) for mode in ("block", "poll", "adaptive", "hybrid")),
    Pair("vhost-user-blk", "--socket=$socket --packed=1", _VHOST),
    *(Pair("vhost-user-blk", "--socket=$socket", _VHOST, f"{_FILE} {aio}") for aio in ("threads", "io_uring", "inline", "native --direct")),
    Pair("virtio-poll", "--transport=vhost-user --socket=$socket", _VHOST),
    Pair("virtio-poll", "--target='--backend ram --size 4M'"),
    *(Pair("nbd", f"--uri=$uri --datapath={path}", _NBD) for path in ("direct", "libnbd")),
    *(Pair("nbd", f"--uri=$uri --wait_mode={mode}", _NBD) for mode in ("poll", "adaptive", "hybrid")),
    *(Pair("nbd", "--uri=$uri", _NBD, f"{_FILE} {aio}") for aio in ("threads", "io_uring")),
)


def add(command):
    """Add selfcheck to the command line; COMMAND(name, text, run) makes a parser."""
    for_json.add(command("selfcheck", "write and verify data with each engine on each target", _run))


def _run(args):
    with for_json.delivered(args, "selfcheck") as data:
        return _checked(data.setdefault("pairs", []))


def _checked(found):
    """The exit status; FOUND gets what became of each pair."""
    failed = 0
    for pair in _PAIRS:
        with tempfile.TemporaryDirectory(prefix="dataplane-selfcheck.") as place:
            why = _try(pair, place)
        print(f"{'BAD  ' if why else 'OK   '}{pair.name}" + (f": {why}" if why else ""), flush=True)
        found.append({"name": pair.name, "engine": pair.engine, "target": pair.target or None, "passed": not why, "why": why})
        failed += bool(why)
    blocks = _SIZE // _BLOCK
    print(f"{len(_PAIRS) - failed} of {len(_PAIRS)} pairs wrote {blocks} blocks and read them back" + ("" if failed else "; all is well"))
    return NOT_MEASURED if failed else 0


def _try(pair, place):
    """What went wrong with PAIR, in the directory PLACE, or ''."""
    try:
        engine = paths.built("engines", f"{pair.engine}.so")
        target = paths.built("targets", pair.target) if pair.target else None
    except Refused as err:
        return str(err)
    if "$file" in pair.options:
        with open(os.path.join(place, "file"), "wb") as data:
            data.truncate(_SIZE)
    fio = f"{shlex.join([*_FIO, f'--ioengine=external:{engine}'])} {pair.words}"
    if target:
        options = pair.options.replace("$file", f"{place}/file").split()
        argv = [str(target), *options, "--run", fio.replace("$socket", '"$socket"').replace("$uri", '"$uri"')]
    else:
        argv = ["/bin/sh", "-c", fio]
    status, said = _finish(argv, place)
    if status:
        return _last_line(said) or f"exit status {status}"
    return _verified(os.path.join(place, "fio.json"))


def _finish(argv, place):
    """(exit status, what ARGV said); one that does not end is stopped, with all that it has started."""
    env = os.environ | {"TMPDIR": place}
    try:
        with subprocess.Popen(argv, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True) as running:
            try:
                return running.wait(_PATIENCE_S), running.communicate()[0]
            except BaseException as err:
                os.killpg(running.pid, signal.SIGKILL)
                if isinstance(err, subprocess.TimeoutExpired):
                    return 1, f"not done after {_PATIENCE_S} s"
                raise
    except OSError as err:
        raise NotMeasured(f"{argv[0]}: {err.strerror}") from None


def _last_line(said):
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("note: both iodepth")]
    return lines[0].strip() if lines else ""


def _verified(path):
    """fio's own count, so that a run that did nothing is no success."""
    try:
        with open(path, encoding="utf-8") as results:
            text = results.read()
        job = json.loads(text[text.index("{"):])["jobs"][0]
        counts = [job["write"]["total_ios"], job["read"]["total_ios"]]
    except (OSError, ValueError, KeyError, IndexError) as err:
        return f"fio's results cannot be read: {err}"
    wanted = _SIZE // _BLOCK
    if job["error"] or counts != [wanted, wanted]:
        return f"error {job['error']}, {counts[0]} blocks written and {counts[1]} read back instead of {wanted}"
    return ""
