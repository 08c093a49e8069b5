# SPDX-License-Identifier: GPL-2.0-only
"""The command line of scripts/guest."""

import argparse
import os
import sys

from . import image, machine
from .errors import Failed, Unavailable

FAILED, UNAVAILABLE = 1, 77

_EPILOG = """\
The commands are a shell script in which each SOCKET, and then each FILE of --disk, is a disk:
the first /dev/vda, the next /dev/vdb. The shell is busybox, whose own commands come first; /usr/bin/fio and
/usr/bin/blkdiscard are this host's. Without commands there is a shell. The exit status is that of the commands; 124 when the time was up, 125 when
the guest ended without saying GUEST-RC, 77 when something it takes is missing here.

The guest is emulated: its speed says nothing."""


class _Parser(argparse.ArgumentParser):
    """A mistake is one line on stderr and exit status 1."""

    def error(self, message):
        print(f"guest: {message}", file=sys.stderr)
        sys.exit(FAILED)


def _count(text):
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}': expected a whole number from 1 up")
    return int(text)


def _file(text):
    here, _, there = text.partition(":")
    if not os.path.isfile(here):
        raise argparse.ArgumentTypeError(f"'{here}': no such file")
    return here, there or f"/usr/bin/{os.path.basename(here)}"


def _disk(text):
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"'{text}': no such file")
    return text


def _parser():
    parser = _Parser(prog="guest", description="Boot a Linux guest with disks served over vhost-user, and run commands in it.", epilog=_EPILOG, allow_abbrev=False,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", action="append", default=[], metavar="PATH",
                        help="a vhost-user-blk device is served there; repeatable, also with the same")
    parser.add_argument("--disk", action="append", default=[], type=_disk, metavar="FILE",
                        help="a virtio-blk disk of QEMU's own, whose data is in FILE; repeatable")
    parser.add_argument("--iommu", action="store_true",
                        help="give the guest an IOMMU (Intel's, on a q35 machine), behind which the --disk ones are, for vfio-pci")
    parser.add_argument("--qemu", default=machine.QEMU, metavar="PROGRAM",
                        help="a name or a path (default %(default)s)")
    parser.add_argument("--queues", type=_count, default=1, metavar="N",
                        help="virtqueues of each disk (default 1)")
    parser.add_argument("--packed", action="store_true",
                        help="offer the guest packed virtqueues")
    parser.add_argument("--cpus", type=_count, default=2, metavar="N",
                        help="CPUs of the guest (default 2)")
    parser.add_argument("--memory", type=_count, default=512, metavar="MIB",
                        help="memory of the guest (default 512)")
    parser.add_argument("--timeout", type=_count, default=100, metavar="S",
                        help="seconds until it is ended (default 100)")
    parser.add_argument("--file", action="append", default=[], type=_file, metavar="PATH[:PLACE]",
                        help="put this file, and the libraries it needs, into the guest (default PLACE: /usr/bin/NAME); repeatable")
    parser.add_argument("--reboot", action="store_true",
                        help="let the guest reboot, which runs the commands again")
    parser.add_argument("--prepare", action="store_true",
                        help="fetch and build what booting takes, and stop there")
    parser.add_argument("commands", nargs="*", metavar="-- COMMAND",
                        help="run in the guest as a shell script, several words joined by spaces")
    return parser


def main(argv):
    """Run the command; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        built = image.prepare()
        if args.prepare:
            return 0
        return machine.boot(args.qemu, built, args.socket, args.disk, args.iommu, args.queues, args.packed, args.cpus,
                            args.memory, args.timeout, args.reboot, " ".join(args.commands) or "exec sh", args.file)
    except Unavailable as err:
        print(f"guest: {err}", file=sys.stderr)
        return UNAVAILABLE
    except Failed as err:
        print(f"guest: {err}", file=sys.stderr)
        return FAILED
