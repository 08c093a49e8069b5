/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_JOB_H
#define ENGINES_VIRTIO_JOB_H

#include "base/alloc.h"
#include "engines/virtio/device.h"

/**
 * struct job_io - an io_u on its way; one request, or several where the device's limits
 *	make that necessary
 * @io_u: fio's
 * @parts: requests in flight
 * @issued: bytes in requests so far
 * @error: the first errno of its requests
 * @busy: fio waits for it
 * @waits: not all of it is in requests yet
 */
struct job_io {
	struct io_u *io_u;
	unsigned int parts;
	uint64_t issued;
	int error;
	bool busy;
	bool waits;
};

/**
 * struct virtio_job - a job's hold on a device: its queue and what is in flight
 * @td: the job
 * @dev: the device
 * @index: the queue it has claimed
 * @queue: the driver of it
 * @waiter: how it waits for completions
 * @io: one for each io_u of the job
 * @nr_io: how many; iodepth
 * @waiting: ring of those that wait for free slots, oldest first
 * @first_waiting: where the oldest is
 * @nr_waiting: how many
 * @queued: io_us queued since the last commit
 * @nr_queued: how many
 * @event: io_us that getevents() has found complete
 * @nr_event: how many
 * @dead: errno that ended the job's I/O, 0 while it is well; never cleared
 * @calls: of getevents(), to look at the clock now and then only
 * @aged_ns: when queue.age was last advanced
 * @buffers_taken: iomem_alloc() has given the I/O buffers out
 * @buffer_error: why it could not
 */
struct virtio_job {
	struct thread_data *td;
	struct shared_device *dev;
	unsigned int index;
	struct blk_queue queue;
	struct waiter waiter;
	struct job_io *io;
	unsigned int nr_io;
	struct job_io **waiting;
	unsigned int first_waiting;
	unsigned int nr_waiting;
	struct io_u **queued;
	unsigned int nr_queued;
	struct io_u **event;
	unsigned int nr_event;
	int dead;
	unsigned int calls;
	uint64_t aged_ns;
	int buffer_error;
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
