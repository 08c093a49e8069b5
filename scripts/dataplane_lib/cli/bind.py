# SPDX-License-Identifier: GPL-2.0-only
"""dataplane bind, unbind: a virtio-blk device from the kernel's driver to vfio-pci, and back."""

from ..host import vfio

_HELP = "the device's PCI address, such as 0000:00:04.0"


_TAKE = """\
It takes root and an IOMMU, and loads the modules. A disk that is mounted, swap space, held
by device mapper or md, or open in any process is refused, and so is a device whose IOMMU
group has others that the kernel drives. The disk is gone from /dev until 'dataplane unbind'
or a reboot; its data stays."""
_GIVE = "It takes root. A device that a job has open is refused. The kernel finds its own driver again."


def add(command):
    """Add bind and unbind to the command line; COMMAND(name, text, run) makes a parser."""
    for name, text, run, more in (("bind", "give a virtio-blk device to vfio-pci, for transport=vfio-pci", _bind, _TAKE),
                                  ("unbind", "give a device of vfio-pci back to the kernel", _unbind, _GIVE)):
        parser = command(name, text, run)
        parser.epilog = more
        parser.add_argument("address", metavar="DEVICE", help=_HELP)


def _bind(args):
    device = vfio.Host().device(args.address)
    was = device.driver()
    names = vfio.bind(device)
    if was == vfio.VFIO:
        print(f"{device.address}: vfio-pci has it already")
    else:
        print(f"{device.address}: from {was or 'no driver'} to vfio-pci" + (f"; gone until 'dataplane unbind {device.address}': {', '.join(names)}" if names else ""))
    print(f"    ioengine=external:${{FIO_DATAPLANE}}/engines/virtio-poll.so\n    transport=vfio-pci\n    device={device.address}")


def _unbind(args):
    device = vfio.Host().device(args.address)
    was = device.driver()
    driver = vfio.unbind(device)
    names = ", ".join(name for name, _ in device.nodes())
    print(f"{device.address}: {driver} has it" + (" already" if was == driver else "") + (f": {names}" if names else ""))
