/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/virtio/job.h"
#include "engines/virtio/transport.h"

/*
 * fio engine for a vhost-user-blk device: the job plays the guest's driver and the device
 * is another process, this project's target or anybody else's.
 */

static struct fio_option options[] = {
	VIRTIO_OPTION_SOCKET,
	{
		.name	= "wait_mode",
		.lname	= "How to wait",
		.type	= FIO_OPT_STR,
		VIRTIO_OPTION(wait_mode),
		.help	= "How to wait for completions",
		.def	= "block",
		.posval	= {
			{ .ival = "block", .oval = WAIT_BLOCK, .help = "Sleep on the call eventfd" },
			{ .ival = "poll", .oval = WAIT_POLL, .help = "Do not sleep, unless with many others on its CPU" },
			{ .ival = "adaptive", .oval = WAIT_ADAPTIVE,
			  .help = "Poll for a while, then sleep; the while adapts as QEMU's does" },
		},
		VIRTIO_LISTED,
	},
	{
		.name	= "wait_poll_max_ns",
		.lname	= "Longest polling window",
		.type	= FIO_OPT_ULL,
		VIRTIO_OPTION(wait_poll_max_ns),
		.help	= "wait_mode=adaptive: the longest it may poll before it sleeps, in ns",
		.def	= "32768",
		VIRTIO_LISTED,
	},
	VIRTIO_OPTIONS_COMMON,
	{
		.name	= NULL,
	},
};

const struct virtio_transport *const virtio_transports[] = {
	[VIA_VHOST_USER] = &via_vhost_user,
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-vhost-user-blk",
	.version	= FIO_IOOPS_VERSION,
	VIRTIO_JOB_HOOKS,
	.options	= options,
};
