# SPDX-License-Identifier: GPL-2.0-only
"""Peers that serve in a target's place."""

import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path

from dataplane_lib.errors import RunFailed

SIZE = 256 << 20
PATIENCE = 20
# SPDK's plugin and its target have memory of their own each, in MiB of hugepages.
SPDK_MEMORY = 300


@contextlib.contextmanager
def serving(name, spdk, cpu):
    """Runs peer NAME on CPU, where that is not None; gives the path of its socket.

    SPDK is the directory that SPDK was built in. It needs hugepages.
    """
    with tempfile.TemporaryDirectory(prefix="bench.") as place:
        socket = Path(place) / "socket"
        argv = _COMMANDS[name](Path(place), spdk, cpu)
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        with open(Path(place) / "said", "w+", encoding="utf-8") as said, \
                subprocess.Popen([*pinned, *argv], stdin=subprocess.DEVNULL, stdout=said, stderr=said) as server:
            try:
                _wait_for(socket, server, said, name)
                yield socket
            finally:
                server.terminate()


def _wait_for(socket, server, said, name):
    end = time.monotonic() + PATIENCE
    while not socket.exists():
        if server.poll() is not None or time.monotonic() > end:
            said.seek(0)
            lines = said.read().strip().splitlines()
            raise RunFailed(f"{name} does not serve: {lines[-1] if lines else 'not a word'}")
        time.sleep(0.02)


def _nbdkit(place, _spdk, _cpu):
    return ["nbdkit", "--foreground", "--unix", str(place / "socket"), "memory", str(SIZE)]


def _qemu_nbd(place, _spdk, _cpu):
    return ["qemu-nbd", "--persistent", "--socket", str(place / "socket"), "--image-opts", f"driver=null-co,size={SIZE}"]


def _spdk_vhost(bdev, params):
    def command(place, spdk, cpu):
        config = {"subsystems": [
            {"subsystem": "bdev", "config": [{"method": bdev, "params": {"name": "disk", "num_blocks": SIZE // 512, "block_size": 512, **params}}]},
            {"subsystem": "vhost_blk", "config": [{"method": "vhost_create_blk_controller", "params": {"ctrlr": "socket", "dev_name": "disk"}}]}]}
        (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return ["env", f"LD_LIBRARY_PATH={spdk / 'build/lib'}", str(spdk / "build/bin/vhost"), "--no-pci", "-m", hex(1 << (cpu or 0)),
                "-s", str(SPDK_MEMORY), "-S", str(place), "-c", str(place / "config.json"), "-r", str(place / "rpc")]
    return command


_COMMANDS = {"nbdkit": _nbdkit, "qemu-nbd": _qemu_nbd, "spdk-null": _spdk_vhost("bdev_null_create", {}),
             "spdk-malloc": _spdk_vhost("bdev_malloc_create", {})}


def spdk_fio(spdk, socket, cpu):
    """(environment and pinning, fio's options) for SPDK's plugin on SOCKET."""
    config = {"subsystems": [{"subsystem": "bdev", "config": [{"method": "bdev_virtio_attach_controller", "params": {
        "name": "disk", "trtype": "user", "traddr": str(socket), "dev_type": "blk", "vq_count": 1, "vq_size": 128}}]}]}
    file = socket.parent / "plugin.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    plugin = spdk / "build/fio/spdk_bdev"
    pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
    return ([*pinned, "env", f"LD_LIBRARY_PATH={spdk / 'build/lib'}", f"LD_PRELOAD={plugin}"],
            [f"--ioengine={plugin}", f"--spdk_json_conf={file}", "--thread", f"--spdk_mem={SPDK_MEMORY}", "--spdk_single_seg=1",
             "--env_context=--no-pci", "--filename=disk"])
