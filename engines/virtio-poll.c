/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/virtio/job.h"
#include "engines/virtio/transport.h"

/*
 * fio engine for polled virtio: the same driver, but unless wait_mode= says otherwise no
 * notification is ever asked for and every wait is a spin. By default the device is inside fio, so a job needs no daemon.
 */

static struct fio_option options[] = {
	{
		.name	= "transport",
		.lname	= "Transport",
		.type	= FIO_OPT_STR,
		VIRTIO_OPTION(transport),
		.help	= "Where the device is",
		.def	= "embedded",
		.posval	= {
			{ .ival = "embedded", .oval = VIA_EMBEDDED,
			  .help = "In fio itself, on a thread of each job" },
			{ .ival = "vhost-user", .oval = VIA_VHOST_USER,
			  .help = "In another process, at socket=" },
			{ .ival = "vfio-pci", .oval = VIA_VFIO_PCI,
			  .help = "A virtio-blk device on PCI, at device=, which 'dataplane bind' has given to vfio-pci" },
			{ .ival = "vhost-vdpa", .oval = VIA_VHOST_VDPA,
			  .help = "A virtio-blk device on the kernel's vDPA bus, hardware or a VDUSE daemon's, whose vhost-vdpa file is at device=" },
		},
		OPTION_LISTED,
	},
	{
		.name	= "target",
		.lname	= "Embedded target",
		.type	= FIO_OPT_STR_STORE,
		VIRTIO_OPTION(target),
		.help	= "transport=embedded: options of vhost-user-blk-target, such as --backend ram --size 1G, without quotes; it polls busily unless --poll says otherwise",
		OPTION_LISTED,
	},
	VIRTIO_OPTION_SOCKET,
	{
		.name	= "device",
		.lname	= "Device",
		.type	= FIO_OPT_STR_STORE,
		VIRTIO_OPTION(device),
		.help	= "transport=vfio-pci: PCI address of the device, such as 0000:00:04.0; transport=vhost-vdpa: its file, such as /dev/vhost-vdpa-0",
		OPTION_LISTED,
	},
	JOB_OPTIONS_WAIT_BY("spin", {
		.ival = "spin", .oval = WAIT_SPIN,
		.help = "Look over and over, and never sleep",
	},),
	VIRTIO_OPTIONS_COMMON,
	JOB_OPTIONS,
	{
		.name	= NULL,
	},
};

const struct virtio_transport *const virtio_transports[] = {
	[VIA_VHOST_USER] = &via_vhost_user,
	[VIA_EMBEDDED] = &via_embedded,
	[VIA_VFIO_PCI] = &via_vfio,
	[VIA_VHOST_VDPA] = &via_vdpa,
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-virtio-poll",
	VIRTIO_JOB_HOOKS,
	.options	= options,
};
