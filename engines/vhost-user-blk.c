/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/virtio/job.h"
#include "engines/virtio/transport.h"

/*
 * fio engine for a vhost-user-blk device: the job plays the guest's driver and the device
 * is another process, this project's target or anybody else's.
 */

static struct fio_option options[] = {
	VIRTIO_OPTION_SOCKET,
	JOB_OPTIONS_WAIT,
	VIRTIO_OPTIONS_COMMON,
	JOB_OPTIONS,
	{
		.name	= NULL,
	},
};

const struct virtio_transport *const virtio_transports[] = {
	[VIA_VHOST_USER] = &via_vhost_user,
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-vhost-user-blk",
	VIRTIO_JOB_HOOKS,
	.options	= options,
};
