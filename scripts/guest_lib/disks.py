# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's arguments for the guest's disks; the first one added is the guest's /dev/vda."""

import json
import os
import stat

IOTHREAD = "io0"
MAILBOX = "mailbox"

# What QEMU's cache= stands for: (around the host's page cache, a write cache for the guest, flushes ignored).
CACHES = {"none": (True, True, False), "writeback": (False, True, False), "writethrough": (False, False, False),
          "directsync": (True, False, False), "unsafe": (False, True, True)}


def vhost_user(number, path, reconnect, queues, packed=False, queue_size=None):
    """A vhost-user-blk device that is served on the unix socket PATH; NUMBER tells it from others.

    RECONNECT is what machine.reconnect() says of the QEMU.
    """
    # In QEMU's own list syntax a comma is written twice.
    quoted = path.replace(",", ",,")
    return ["-chardev", f"socket,id=c{number},path={quoted},{reconnect}",
            "-device", f"vhost-user-blk-pci,chardev=c{number},{_queues(queues, queue_size)}"
            + (",packed=on" if packed else "")]


def virtio_blk(node, write_cache, polling, queues, packed=False, queue_size=None):
    """QEMU's own virtio-blk on an iothread.

    NODE is the block node, as null_co() and file() make one, POLLING what the iothread object is told
    of it: {"poll-max-ns": …}; what is left out is as QEMU has it.
    """
    told = "".join(f",{name}={value}" for name, value in polling.items())
    return ["-object", f"iothread,id={IOTHREAD}{told}", "-blockdev", json.dumps({**node, "node-name": "disk"}),
            "-device", f"virtio-blk-pci,drive=disk,iothread={IOTHREAD},write-cache={_switch(write_cache)},"
            + _queues(queues, queue_size) + (",packed=on" if packed else "")]


def virtio_file(number, path, iommu, queues, packed=False):
    """A virtio-blk device of QEMU's own with its data in the file PATH; NUMBER tells it from others.

    Discards punch holes into the file. With IOMMU the device takes addresses that the guest's IOMMU translates.
    """
    node = {"driver": "file", "node-name": f"file{number}", "filename": path, "discard": "unmap"}
    return ["-blockdev", json.dumps(node), "-device", f"virtio-blk-pci,drive=file{number},{_queues(queues, None)}"
            + (",packed=on" if packed else "") + (",iommu_platform=on,disable-legacy=on,ats=on" if iommu else "")]


def null_co(size, latency_ns):
    """A node of SIZE bytes that moves no data, whose requests take LATENCY_NS."""
    return {"driver": "null-co", "size": size, "latency-ns": latency_ns}


def file(path, aio, cache):
    """A node over a file or block device, with an aio of QEMU's and one of CACHES."""
    direct, _, no_flush = CACHES[cache]
    driver = "host_device" if stat.S_ISBLK(os.stat(path).st_mode) else "file"
    return {"driver": driver, "filename": path, "aio": aio, "cache": {"direct": direct, "no-flush": no_flush}}


def mailbox(path):
    """A disk, told by its serial number, on which the guest leaves what the host wants: the file PATH."""
    return ["-blockdev", json.dumps({"driver": "file", "node-name": MAILBOX, "filename": path}),
            "-device", f"virtio-blk-pci,drive={MAILBOX},serial={MAILBOX}"]


def _queues(queues, queue_size):
    return f"num-queues={queues}" + (f",queue-size={queue_size}" if queue_size else "")


def _switch(value):
    return "on" if value else "off"
