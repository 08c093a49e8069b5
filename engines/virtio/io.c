/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/fd.h"
#include "engines/glue/loop.h"
#include "engines/virtio/job.h"

/* The path of a request, as far as virtio is concerned: see engines/glue/loop.h. */

/* Looks at memory between two looks at the clock, when only stuck requests need it. */
#define LOOKS_PER_CLOCK	1024

/* The same when the CPU is wanted by others. */
#define LOOKS_CROWDED	16

static inline struct virtio_job *virtio(struct job *j)
{
	return (struct virtio_job *)j;
}

static void queue_request(struct job *j, struct job_io *io, uint32_t len)
{
	struct blk_queue *q = &virtio(j)->queue;
	const struct io_u *io_u = io->io_u;

	if (unlikely(!len))
		blk_queue_flush(q, io);
	else if (unlikely(io_u->ddir == DDIR_TRIM))
		blk_queue_discard(q, io_u->offset + io->issued, len, io);
	else
		blk_queue_rw(q, io_u->ddir == DDIR_WRITE, io_u->offset + io->issued,
			     (char *)io_u->xfer_buf + io->issued, len, io);
}

LOOP bool issue(struct job *j, struct job_io *io)
{
	struct virtio_job *v = virtio(j);
	const struct blk_limits *l = &v->dev->limits;
	struct io_u *io_u = io->io_u;

	if (unlikely(v->plug.limit)) {
		if (plug_takes(&v->plug, io_u) && plug_join(&v->plug, io))
			return true;
		plug_issue(&v->plug, &v->queue);
		if (plug_takes(&v->plug, io_u)) {
			if (v->queue.nr_free)
				plug_begin(&v->plug, io);
			return v->queue.nr_free;
		}
	}
	return issue_parts(j, io, io_u->ddir == DDIR_TRIM ? l->max_discard : l->max_transfer,
			   &v->queue.nr_free, queue_request);
}

LOOP int submit(struct job *j)
{
	struct virtio_job *v = virtio(j);

	plug_issue(&v->plug, &v->queue);
	return blk_queue_submit(&v->queue);
}

LOOP int before_wait(struct job *j)
{
	return blk_queue_check_kick(&virtio(j)->queue);
}

LOOP int next(struct job *j, struct job_io **io, int *err)
{
	struct virtio_job *v = virtio(j);

	*io = v->done;
	if (likely(!*io)) {
		int ret = blk_queue_next(&v->queue, (void **)io, &v->done_error);

		if (unlikely(ret < 0))
			v->job.fault = "it says that it has completed what is not in flight";
		if (ret <= 0)
			return ret;
	}
	*err = v->done_error;
	/* What was merged into its request is complete with it. */
	v->done = plug_take(&v->plug, *io);
	return 1;
}

/*
 * Take notice of a device that has come back; returns whether it is gone now, which its keeper
 * allows for no longer than we do. The state first: the keeper counts a return before it tells it.
 */
static bool look_at_link(struct virtio_job *v)
{
	const struct device_link *l = v->dev->link;
	unsigned int generation;
	bool gone;

	if (!l)
		return false;
	gone = atomic_load(&l->state) == LINK_DOWN;
	generation = atomic_load(&l->generation);
	if (generation != v->generation) {
		v->generation = generation;
		v->job.came_back = true;
		blk_queue_renew(&v->queue);
	}
	return gone;
}

static bool stuck(struct job *j, unsigned int seconds, unsigned int max)
{
	struct virtio_job *v = virtio(j);
	bool gone;

	v->queue.age += seconds;
	gone = look_at_link(v);
	return blk_queue_stuck(&v->queue, max, gone);
}

LOOP int look(struct job *j)
{
	return vq_driver_has_used(&virtio(j)->queue.ring);
}

/* The look after calls are on is what a racing completion would be lost without. */
static int before_sleep(struct job *j)
{
	return look(j) || vq_driver_enable_calls(&virtio(j)->queue.ring);
}

static void after_sleep(struct job *j)
{
	vq_driver_disable_calls(&virtio(j)->queue.ring);
}

/* Returns 0, or why the device is gone: nobody sends anything on a connection that is set up. */
static int peer(struct job *j)
{
	struct shared_device *dev = virtio(j)->dev;

	/* A connection that a keeper looks after is gone when the keeper says so. */
	if (dev->link)
		return atomic_load_explicit(&dev->link->state, memory_order_relaxed) == LINK_LOST ?
		       -ECONNRESET : 0;
	if (dev->transport->gone)
		return dev->transport->gone(dev, virtio(j)->index, &j->fault);
	return fd_events(dev->peer_fd, POLLIN) ? -ECONNRESET : 0;
}

static unsigned int fds(struct job *j, struct pollfd *p)
{
	const struct virtio_job *v = virtio(j);

	p[0] = (struct pollfd) { .fd = v->dev->queue[v->index].call_fd, .events = POLLIN };
	p[1] = (struct pollfd) { .fd = v->dev->link ? -1 : v->dev->peer_fd, .events = POLLIN };
	return 2;
}

static int woken(struct job *j, const struct pollfd *p)
{
	uint64_t count;

	if (p[0].revents && read(p[0].fd, &count, sizeof(count)) == sizeof(count))
		j->waiter.stats.calls += count;
	/* What the device completed before it went is in memory, and taken first. */
	if (look(j))
		return 1;
	if (p[1].fd < 0 || (p[1].revents && virtio(j)->dev->transport->gone))
		return peer(j);
	return p[1].revents ? -ECONNRESET : 0;
}

const struct job_ops virtio_job_ops = {
	.issue = issue,
	.submit = submit,
	.before_wait = before_wait,
	.next = next,
	.stuck = stuck,
	.stats = virtio_job_stats,
	.wait = {
		.look = look,
		.before_sleep = before_sleep,
		.after_sleep = after_sleep,
		.fds = fds,
		.woken = woken,
		.peer = peer,
		.looks = LOOKS_PER_CLOCK,
		.looks_crowded = LOOKS_CROWDED,
		.first_looks = 1,
	},
};

/* fio hooks: see engines/glue/loop.h. */

enum fio_q_status virtio_job_queue(struct thread_data *td, struct io_u *io_u)
{
	return job_queue(td, io_u, &virtio_job_ops);
}

int virtio_job_commit(struct thread_data *td)
{
	return job_commit(td, &virtio_job_ops);
}

int virtio_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			 const struct timespec *t)
{
	(void)t;
	return job_getevents(td, min, max, &virtio_job_ops);
}
