/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/virtio/job.h"

/*
 * fio engine for a vhost-user-blk device: the job plays the guest's driver and the device
 * is another process, this project's target or anybody else's.
 */

#define OPTION(member)	.off1 = offsetof(struct virtio_options, member)
#define LISTED		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID

static struct fio_option options[] = {
	{
		.name	= "socket",
		.lname	= "vhost-user socket",
		.type	= FIO_OPT_STR_STORE,
		OPTION(socket),
		.help	= "Path of the device's vhost-user socket",
		LISTED,
	},
	{
		.name	= "wait_mode",
		.lname	= "How to wait",
		.type	= FIO_OPT_STR,
		OPTION(wait_mode),
		.help	= "How to wait for completions",
		.def	= "block",
		.posval	= {
			{ .ival = "block", .oval = WAIT_BLOCK, .help = "Sleep on the call eventfd" },
			{ .ival = "poll", .oval = WAIT_POLL, .help = "Never sleep" },
			{ .ival = "adaptive", .oval = WAIT_ADAPTIVE,
			  .help = "Poll for a while, then sleep; the while adapts as QEMU's does" },
		},
		LISTED,
	},
	{
		.name	= "wait_poll_max_ns",
		.lname	= "Longest polling window",
		.type	= FIO_OPT_ULL,
		OPTION(wait_poll_max_ns),
		.help	= "wait_mode=adaptive: the longest it may poll before it sleeps, in ns",
		.def	= "32768",
		LISTED,
	},
	{
		.name	= "stuck_timeout",
		.lname	= "Timeout of a request",
		.type	= FIO_OPT_INT,
		OPTION(stuck_timeout),
		.help	= "Seconds after which an unanswered request, or message at set-up, ends the job with ETIMEDOUT",
		.def	= "30",
		.minval	= 1,
		.maxval	= 86400,
		LISTED,
	},
	{
		.name	= "queue_size",
		.lname	= "Virtqueue size",
		.type	= FIO_OPT_INT,
		OPTION(queue_size),
		.help	= "Entries of a virtqueue, a power of two; 0 for as many as iodepth needs, at least 128",
		.def	= "0",
		LISTED,
	},
	{
		.name	= "event_idx",
		.lname	= "Event index",
		.type	= FIO_OPT_BOOL,
		OPTION(event_idx),
		.help	= "Suppress notifications by event index (VIRTIO_RING_F_EVENT_IDX), if the device can",
		.def	= "1",
		LISTED,
	},
	{
		.name	= "indirect",
		.lname	= "Indirect descriptors",
		.type	= FIO_OPT_BOOL,
		OPTION(indirect),
		.help	= "Use indirect descriptors (VIRTIO_RING_F_INDIRECT_DESC), if the device can",
		.def	= "1",
		LISTED,
	},
	{
		.name	= "dp_stats",
		.lname	= "Statistics files",
		.type	= FIO_OPT_STR_STORE,
		OPTION(dp_stats),
		.help	= "Write what each job's driver counted to PREFIX.JOBNAME.N.json",
		LISTED,
	},
	{
		.name	= NULL,
	},
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-vhost-user-blk",
	.version	= FIO_IOOPS_VERSION,
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NO_OFFLOAD |
			  FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup		= virtio_job_setup,
	.init		= virtio_job_init,
	.post_init	= virtio_job_post_init,
	.cleanup	= virtio_job_cleanup,
	.open_file	= virtio_job_open_file,
	.close_file	= virtio_job_close_file,
	.invalidate	= virtio_job_invalidate,
	.iomem_alloc	= virtio_job_iomem_alloc,
	.iomem_free	= virtio_job_iomem_free,
	.io_u_init	= virtio_job_io_u_init,
	.queue		= virtio_job_queue,
	.commit		= virtio_job_commit,
	.getevents	= virtio_job_getevents,
	.event		= virtio_job_event,
	.option_struct_size = sizeof(struct virtio_options),
	.options	= options,
};

__attribute__((constructor)) static void check_fio(void)
{
	engine_check_fio(&ioengine);
}

__attribute__((destructor)) static void leave_devices(void)
{
	shared_devices_close();
}
