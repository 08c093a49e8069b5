/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/virtio/job.h"

/* The path of a request: queue, commit, getevents, event. */

/* Calls of getevents() between two looks at the clock. */
#define CALLS_PER_CLOCK	1024

#define SECOND_NS	1000000000ull

static struct virtio_job *job(struct thread_data *td)
{
	return td->io_ops_data;
}

/* The job ends: whatever is in flight has failed, and nothing more will be queued. */
static void die(struct virtio_job *j, int err)
{
	const struct virtio_options *o = j->f.td->eo;

	if (j->f.dead)
		return;
	j->f.dead = err;
	if (err == ETIMEDOUT)
		glue_fail(j->f.td, err, "no answer from %s device '%s' for %u s (stuck_timeout)%s",
			  j->dev->transport->name, j->dev->key, o->stuck_timeout,
			  j->generation ? ", although it has come back" : "");
	else
		glue_fail(j->f.td, err, "%s device '%s': %s", j->dev->transport->name, j->dev->key,
			  err == ECONNRESET ? "has closed the connection" : strerror(err));
}

/* Bytes the device takes in one request. */
static uint32_t request_max(const struct virtio_job *j, enum fio_ddir ddir)
{
	return ddir == DDIR_TRIM ? j->dev->limits.max_discard : j->dev->limits.max_transfer;
}

/* Queue as much of an io_u as there are slots; returns whether that was all. */
static bool issue(struct virtio_job *j, struct job_io *io)
{
	struct io_u *io_u = io->io_u;
	uint32_t max = request_max(j, io_u->ddir);

	if (unlikely(j->plug.limit)) {
		if (plug_takes(&j->plug, io_u) && plug_join(&j->plug, io))
			return true;
		plug_issue(&j->plug, &j->queue);
		if (plug_takes(&j->plug, io_u)) {
			if (j->queue.nr_free)
				plug_begin(&j->plug, io);
			return j->queue.nr_free;
		}
	}
	if (unlikely(!ddir_rw(io_u->ddir))) {
		if (!j->queue.nr_free)
			return false;
		blk_queue_flush(&j->queue, io);
		io->parts++;
		return true;
	}

	do {
		uint64_t left = io_u->xfer_buflen - io->issued;
		uint32_t len = left < max ? left : max;
		uint64_t offset = io_u->offset + io->issued;

		if (!j->queue.nr_free)
			return false;
		if (io_u->ddir == DDIR_TRIM)
			blk_queue_discard(&j->queue, offset, len, io);
		else
			blk_queue_rw(&j->queue, io_u->ddir == DDIR_WRITE, offset,
				     (char *)io_u->xfer_buf + io->issued, len, io);
		io->issued += len;
		io->parts++;
	} while (io->issued < io_u->xfer_buflen);
	return true;
}

/**
 * virtio_job_queue - fio hook: queue an io_u; the device sees it at commit
 * @td: the job
 * @io_u: what to do
 *
 * Return: FIO_Q_QUEUED, or FIO_Q_COMPLETED with an error or when there is nothing to do.
 */
enum fio_q_status virtio_job_queue(struct thread_data *td, struct io_u *io_u)
{
	struct virtio_job *j = job(td);
	struct job_io *io;

	fio_ro_check(td, io_u);
	if (!job_admits(&j->f, io_u, j->dev->limits.flush, j->dev->limits.max_discard))
		return FIO_Q_COMPLETED;
	io = job_begin(io_u);
	if (j->f.nr_waiting || !issue(j, io))
		job_wait(&j->f, io);
	job_queued(&j->f, io);
	return FIO_Q_QUEUED;
}

/**
 * virtio_job_commit - fio hook: show the device what was queued
 * @td: the job
 *
 * Return: 0. A device that cannot be kicked makes the job dead, which getevents() tells.
 */
int virtio_job_commit(struct thread_data *td)
{
	struct virtio_job *j = job(td);
	int ret;

	if (!j->f.nr_queued || j->f.dead)
		return 0;
	plug_issue(&j->plug, &j->queue);
	ret = blk_queue_submit(&j->queue);
	if (ret)
		die(j, -ret);
	job_committed(&j->f);
	return 0;
}

/* Go on with what had to wait for slots. */
static void continue_waiting(struct virtio_job *j)
{
	int ret;

	if (!j->f.nr_waiting)
		return;
	while (j->f.nr_waiting && issue(j, job_first_waiting(&j->f)))
		job_end_wait(&j->f);
	plug_issue(&j->plug, &j->queue);
	ret = blk_queue_submit(&j->queue);
	if (ret)
		die(j, -ret);
}

/* Take completions until @max io_us are done or none is there. */
static void reap(struct virtio_job *j, unsigned int max)
{
	while (j->f.nr_event < max) {
		struct job_io *io = j->done;
		int ret;

		if (likely(!io)) {
			ret = blk_queue_next(&j->queue, (void **)&io, &j->done_error);
			if (ret < 0)
				die(j, -ret);
			if (ret <= 0)
				return;
		}
		/* What was merged into its request is complete with it. */
		j->done = plug_take(&j->plug, io);
		job_part_done(&j->f, io, j->done_error);
	}
}

/*
 * Take notice of a device that has come back; returns whether it is gone now, which its keeper
 * allows for no longer than we do. The state first: the keeper counts a return before it tells it.
 */
static bool look_at_link(struct virtio_job *j)
{
	const struct device_link *l = j->dev->link;
	unsigned int generation;
	bool gone;

	if (!l)
		return false;
	gone = atomic_load(&l->state) == LINK_DOWN;
	generation = atomic_load(&l->generation);
	if (generation != j->generation) {
		j->generation = generation;
		blk_queue_renew(&j->queue);
	}
	return gone;
}

/*
 * Look for requests that are stuck, after a wait of @waited_ns: others may be answered meanwhile.
 * Ages are in seconds of looking for completions (see job_second_passed()), or of waiting.
 */
static void check_age(struct virtio_job *j, uint64_t waited_ns)
{
	const struct virtio_options *o = j->f.td->eo;
	bool gone;

	if (waited_ns >= SECOND_NS)
		job_waited(&j->f);
	else if (!job_second_passed(&j->f))
		return;
	j->queue.age += waited_ns >= SECOND_NS ? waited_ns / SECOND_NS : 1;
	gone = look_at_link(j);
	if (blk_queue_stuck(&j->queue, o->stuck_timeout, gone))
		die(j, ETIMEDOUT);
}

/* A wait has ended without a completion: the job waits on, or is dead. */
static void wait_on(struct virtio_job *j, int why)
{
	if (why != -ETIMEDOUT)
		die(j, -why);
	else if (j->dev->link)
		check_age(j, j->waiter.waited_ns);
	else
		die(j, ETIMEDOUT);
}

/**
 * virtio_job_getevents - fio hook: find completions
 * @td: the job
 * @min: how many to wait for
 * @max: how many to return at most
 * @t: fio's limit of 0 for a @min of 0, else NULL
 *
 * Return: completions found. In a dead job all that was in flight is among them.
 */
int virtio_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			 const struct timespec *t)
{
	struct virtio_job *j = job(td);
	const struct virtio_options *o = td->eo;
	uint64_t timeout = o->stuck_timeout * 1000000000ull;
	int ret = 0;

	(void)t;
	if (!(++j->f.calls % CALLS_PER_CLOCK))
		check_age(j, 0);

	j->f.nr_event = 0;
	while (!j->f.dead) {
		reap(j, max);
		if (unlikely(ret > 0))
			check_age(j, j->waiter.waited_ns);
		continue_waiting(j);
		if ((j->f.nr_event && j->f.nr_event >= min) || j->f.dead)
			break;
		ret = blk_queue_check_kick(&j->queue);
		if (!ret && j->f.nr_event >= min)
			break;
		if (!ret)
			ret = waiter_wait(&j->waiter, timeout);
		if (unlikely(ret < 0))
			wait_on(j, ret);
	}
	if (j->f.dead)
		job_fail_all(&j->f);
	glue_trace_return(j->queue.trace, j->f.nr_event);
	return j->f.nr_event;
}

/**
 * virtio_job_event - fio hook: one of the completions that getevents() found
 * @td: the job
 * @event: which
 *
 * Return: its io_u.
 */
struct io_u *virtio_job_event(struct thread_data *td, int event)
{
	return job(td)->f.event[event];
}
