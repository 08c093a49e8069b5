# SPDX-License-Identifier: GPL-2.0-only
"""The programs that our target can be matched with, and what a match is called by."""

from dataclasses import dataclass

# Names of our two arms: the target as it is, and with the costs that were fitted.
TARGET, FITTED = "target", "fitted"
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
