/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_JOB_H
#define ENGINES_VIRTIO_JOB_H

#include "base/alloc.h"
#include "engines/glue/job.h"
#include "engines/virtio/device.h"
#include "engines/virtio/plug.h"

/**
 * struct virtio_job - a job's hold on a device: its queue and what is in flight
 * @job: what every job has
 * @dev: the device
 * @index: the queue it has claimed
 * @queue: the driver of it
 * @plug: io_us held back to leave as one request
 * @done: the next io_u of a request that is complete, of which fio had no room for all
 * @done_error: that request's errno, or 0
 * @buffer_error: it could not be given the I/O buffers
 * @generation: how many times the device had come back when this job last asked
 */
struct virtio_job {
	struct job job;
	struct shared_device *dev;
	unsigned int index;
	struct blk_queue queue;
	struct plug plug;
	struct job_io *done;
	int done_error;
	bool buffer_error;
	unsigned int generation;
} __attribute__((aligned(THREAD_ALIGN)));

extern const struct job_ops virtio_job_ops;

int virtio_job_setup(struct thread_data *td);
int virtio_job_init(struct thread_data *td);
int virtio_job_post_init(struct thread_data *td);
void virtio_job_cleanup(struct thread_data *td);
int virtio_job_open_file(struct thread_data *td, struct fio_file *f);
int virtio_job_iomem_alloc(struct thread_data *td, size_t size);
void virtio_job_iomem_free(struct thread_data *td);

enum fio_q_status virtio_job_queue(struct thread_data *td, struct io_u *io_u);
int virtio_job_commit(struct thread_data *td);
int virtio_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			 const struct timespec *t);

/* What both virtio engines put into their struct ioengine_ops. */
#define VIRTIO_JOB_HOOKS \
	JOB_HOOKS, \
	.setup		= virtio_job_setup, \
	.init		= virtio_job_init, \
	.post_init	= virtio_job_post_init, \
	.cleanup	= virtio_job_cleanup, \
	.open_file	= virtio_job_open_file, \
	.iomem_alloc	= virtio_job_iomem_alloc, \
	.iomem_free	= virtio_job_iomem_free, \
	.queue		= virtio_job_queue, \
	.commit		= virtio_job_commit, \
	.getevents	= virtio_job_getevents, \
	.option_struct_size = sizeof(struct virtio_options)

void virtio_job_stats(struct job *job, struct json *w);

#endif
