/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_JOB_H
#define ENGINES_VIRTIO_JOB_H

#include "base/alloc.h"
#include "engines/glue/job.h"
#include "engines/glue/files.h"
#include "engines/virtio/device.h"
#include "engines/virtio/plug.h"

/**
 * struct virtio_job - a job's hold on a device: its queue and what is in flight
 * @f: its io_us
 * @dev: the device
 * @index: the queue it has claimed
 * @queue: the driver of it
 * @waiter: how it waits for completions
 * @plug: io_us held back to leave as one request
 * @done: the next io_u of a request that is complete, of which fio had no room for all
 * @done_error: that request's errno, or 0
 * @buffer_error: it could not be given the I/O buffers
 * @trace: what happens to its requests
 * @generation: how many times the device had come back when this job last asked
 */
struct virtio_job {
	struct job f;
	struct shared_device *dev;
	unsigned int index;
	struct blk_queue queue;
	struct waiter waiter;
	struct plug plug;
	struct job_io *done;
	int done_error;
	bool buffer_error;
	struct job_trace trace;
	unsigned int generation;
} __attribute__((aligned(THREAD_ALIGN)));

int virtio_job_setup(struct thread_data *td);
int virtio_job_init(struct thread_data *td);
int virtio_job_post_init(struct thread_data *td);
void virtio_job_cleanup(struct thread_data *td);
int virtio_job_open_file(struct thread_data *td, struct fio_file *f);
int virtio_job_close_file(struct thread_data *td, struct fio_file *f);
int virtio_job_invalidate(struct thread_data *td, struct fio_file *f);
int virtio_job_iomem_alloc(struct thread_data *td, size_t size);
void virtio_job_iomem_free(struct thread_data *td);
int virtio_job_io_u_init(struct thread_data *td, struct io_u *io_u);

enum fio_q_status virtio_job_queue(struct thread_data *td, struct io_u *io_u);
int virtio_job_commit(struct thread_data *td);
int virtio_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			 const struct timespec *t);
struct io_u *virtio_job_event(struct thread_data *td, int event);

/* What both virtio engines put into their struct ioengine_ops. */
#define VIRTIO_JOB_HOOKS \
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NO_OFFLOAD | \
			  FIO_ASYNCIO_SETS_ISSUE_TIME, \
	.setup		= virtio_job_setup, \
	.init		= virtio_job_init, \
	.post_init	= virtio_job_post_init, \
	.cleanup	= virtio_job_cleanup, \
	.open_file	= virtio_job_open_file, \
	.close_file	= virtio_job_close_file, \
	.invalidate	= virtio_job_invalidate, \
	.iomem_alloc	= virtio_job_iomem_alloc, \
	.iomem_free	= virtio_job_iomem_free, \
	.io_u_init	= virtio_job_io_u_init, \
	.queue		= virtio_job_queue, \
	.commit		= virtio_job_commit, \
	.getevents	= virtio_job_getevents, \
	.event		= virtio_job_event, \
	.option_struct_size = sizeof(struct virtio_options)

int virtio_job_save_stats(struct virtio_job *j);

#endif
