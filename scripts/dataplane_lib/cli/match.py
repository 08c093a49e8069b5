# SPDX-License-Identifier: GPL-2.0-only
"""dataplane match: its options, and the programs that our target can be held against."""

from dataclasses import dataclass

from .. import units
from . import options
from .execute import execute

SIZE = "64M"
_NULL_CO = "driver=null-co,size=67108864"
_NBD = "qemu-nbd -t -k $socket "
_QSD = "qemu-storage-daemon --object iothread,id=worker --blockdev node-name=back,driver="
_EXPORT = (" --export vhost-user-blk,id=disk,node-name=back,iothread=worker,writable=on,"
           "addr.type=unix,addr.path=$socket")


@dataclass(frozen=True)
class Peer:
    """Whom our target is to follow. THEIRS says by backend what it is run with, OURS is the target that is like it."""
    job: str
    theirs: dict
    ours: dict
    polls: bool = False


OURS = {"null": f"--backend null --size {SIZE}", "threads": "--backend file:$file --aio threads",
        "io_uring": "--backend file:$file --aio io_uring"}


def _target(program, before=""):
    return {k: {"program": program, "options": f"{before}{v}"} for k, v in OURS.items()}


PEERS = {
    "qemu-nbd": Peer("nbd.fio", {
        "null": {"command": f"{_NBD}--image-opts {_NULL_CO}"},
        "threads": {"command": f"{_NBD}-f raw --cache=writeback --aio=threads $file"},
        "io_uring": {"command": f"{_NBD}-f raw --cache=writeback --aio=io_uring $file"}},
        _target("nbd-target", "--poll off ")),
    # Its vhost-user export does not poll its queues (7.2), so ours does not.
    "qemu-storage-daemon": Peer("vhost-user-blk.fio", {
        "null": {"command": f"{_QSD}null-co,size=67108864{_EXPORT}"},
        "threads": {"command": f"{_QSD}file,filename=$file,aio=threads{_EXPORT}"},
        "io_uring": {"command": f"{_QSD}file,filename=$file,aio=io_uring{_EXPORT}"}},
        _target("vhost-user-blk-target", "--poll off ")),
    "guest": Peer("vhost-user-blk.fio", {
        "null": {"program": "guest", "options": f"--disk virtio-blk --backend null-co --size {SIZE}"},
        "threads": {"program": "guest", "options": "--disk virtio-blk --backend file:$file --cache writeback --aio threads"},
        "io_uring": {"program": "guest", "options": "--disk virtio-blk --backend file:$file --cache writeback --aio io_uring"}},
        _target("guest", "--disk vhost-user-blk --poll adaptive "), polls=True),
}


def add(command):
    """Add match to the command line; COMMAND(name, text, run) makes a parser."""
    sub = command("match", "fit the target's costs to a real program", _run)
    sub.add_argument("--peer", required=True, metavar="NAME", help=f"the server to match: {', '.join(PEERS)} (required)")
    sub.add_argument("--iodepth", default="1,8,32", metavar="A,B,…", help="depths of the grid (default: %(default)s)")
    sub.add_argument("--bs", default="4k,64k", metavar="A,B,…", help="block sizes of the grid, in bytes, or such as 4k (default: %(default)s)")
    sub.add_argument("--backend", default="threads", metavar="A,B,…",
                     help=f"what stands behind, of {', '.join(OURS)}; each is fitted by itself (default: %(default)s)")
    sub.add_argument("--poll-max-ns", default="0,32768", metavar="A,B,…",
                     help="poll windows of the grid in ns, for peers that poll: guest (default: %(default)s)")
    sub.add_argument("--rw", default="randread", metavar="KIND", help="fio's rw= (default: %(default)s)")
    sub.add_argument("--steps", type=units.whole, default=3, metavar="N",
                     help="rounds over the grid that try costs; 0 fits nothing (default: %(default)s)")
    sub.add_argument("--repeats", type=units.whole, default=3, metavar="N", help="counted runs of each point (default: %(default)s)")
    sub.add_argument("--runtime", default="0.6", metavar="S", help="time measured in a run, in s, or such as 500ms (default: %(default)s)")
    sub.add_argument("--ramp", default="0.2", metavar="S", help="time before that, not measured, in s, or such as 500ms (default: %(default)s)")
    sub.add_argument("--target", default="", metavar="'OPTIONS'", help="more options of our target (default: none)")
    sub.add_argument("--guest", default="", metavar="'OPTIONS'", help="more options of both guests, such as --qemu PATH (default: none)")
    options.add_place(sub)


def _run(args):
    from ..run import match_run  # scipy takes a while, and other commands have no need of it
    chosen, course = match_run.prepared(args)
    execute(chosen, args, course)
