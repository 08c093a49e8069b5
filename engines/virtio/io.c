/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/clock.h"
#include "engines/virtio/job.h"

/* The path of a request: queue, commit, getevents, event. */

/* Calls of getevents() between two looks at the clock. */
#define CALLS_PER_CLOCK	1024

static struct virtio_job *job(struct thread_data *td)
{
	return td->io_ops_data;
}

/* The job ends: whatever is in flight has failed, and nothing more will be queued. */
static void die(struct virtio_job *j, int err)
{
	const struct virtio_options *o = j->td->eo;

	if (j->dead)
		return;
	j->dead = err;
	if (err == ETIMEDOUT)
		log_err("%s: no answer from %s device '%s' for %u s (stuck_timeout)\n", j->td->o.name,
			j->dev->transport->name, j->dev->key, o->stuck_timeout);
	else
		log_err("%s: %s device '%s': %s\n", j->td->o.name, j->dev->transport->name,
			j->dev->key, err == ECONNRESET ? "has closed the connection" : strerror(err));
	td_verror(j->td, err, "virtio-blk device");
}

static void complete(struct virtio_job *j, struct job_io *io, int err)
{
	io->busy = false;
	io->waits = false;
	io->io_u->error = err;
	j->event[j->nr_event++] = io->io_u;
}

/* Everything fio waits for comes back at once, with the errno that ended the job. */
static void fail_all(struct virtio_job *j)
{
	j->nr_waiting = 0;
	for (unsigned int i = 0; i < j->nr_io; i++) {
		if (j->io[i].busy)
			complete(j, &j->io[i], j->dead);
	}
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

static enum fio_q_status fail_now(struct io_u *io_u, int err)
{
	io_u->error = err;
	return FIO_Q_COMPLETED;
}

/*
 * An io_u without a slot waits here, and all that come after it. fio is not told that the
 * queue is full: to a write that it has to offer twice it gives a second verify seed, of
 * which its own verification knows nothing (backend.c, do_io()).
 */
static void wait_for_slots(struct virtio_job *j, struct job_io *io)
{
	io->waits = true;
	j->waiting[(j->first_waiting + j->nr_waiting++) % j->nr_io] = io;
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
	struct job_io *io = io_u->engine_data;

	fio_ro_check(td, io_u);
	if (j->dead)
		return fail_now(io_u, j->dead);

	*io = (struct job_io) { .io_u = io_u };
	switch (io_u->ddir) {
	case DDIR_READ:
	case DDIR_WRITE:
	case DDIR_TRIM:
		if (!io_u->xfer_buflen)
			return FIO_Q_COMPLETED;
		break;
	case DDIR_SYNC:
	case DDIR_DATASYNC:
	case DDIR_SYNC_FILE_RANGE:
		/* Without a cache in the device, what has completed is as durable as it gets. */
		if (!j->dev->limits.flush)
			return FIO_Q_COMPLETED;
		break;
	default:
		return fail_now(io_u, EINVAL);
	}
	if (j->nr_waiting || !issue(j, io))
		wait_for_slots(j, io);
	io->busy = true;
	j->queued[j->nr_queued++] = io_u;
	return FIO_Q_QUEUED;
}

/*
 * clat starts here: one clock reading for the batch, taken once the device can see it, as
 * fio's io_uring engine does. Before, it would only delay the device.
 */
static void set_issue_times(struct virtio_job *j)
{
	struct timespec now;

	if (fio_fill_issue_time(j->td)) {
		fio_gettime(&now, NULL);
		if (j->td->o.read_iolog_file)
			j->td->last_issue = now;
		for (unsigned int i = 0; i < j->nr_queued; i++) {
			j->queued[i]->issue_time = now;
			io_u_queued(j->td, j->queued[i]);
		}
	}
	j->nr_queued = 0;
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

	if (!j->nr_queued || j->dead)
		return 0;
	ret = blk_queue_submit(&j->queue);
	if (ret)
		die(j, -ret);
	io_u_mark_submit(td, j->nr_queued);
	set_issue_times(j);
	return 0;
}

/* Go on with what had to wait for slots. */
static void continue_waiting(struct virtio_job *j)
{
	int ret;

	if (!j->nr_waiting)
		return;
	while (j->nr_waiting && issue(j, j->waiting[j->first_waiting])) {
		j->waiting[j->first_waiting]->waits = false;
		j->first_waiting = (j->first_waiting + 1) % j->nr_io;
		j->nr_waiting--;
	}
	ret = blk_queue_submit(&j->queue);
	if (ret)
		die(j, -ret);
}

/* Take completions until @max io_us are done or none is there. */
static void reap(struct virtio_job *j, unsigned int max)
{
	while (j->nr_event < max) {
		struct job_io *io;
		int err, ret = blk_queue_next(&j->queue, (void **)&io, &err);

		if (ret < 0)
			die(j, -ret);
		if (ret <= 0)
			return;
		if (err && !io->error)
			io->error = err;
		if (!--io->parts && !io->waits)
			complete(j, io, io->error);
	}
}

/*
 * The age of requests is counted in seconds that this job has looked at its queue, so
 * that a job which was busy elsewhere (thinktime=) does not find its requests too old.
 */
static void check_age(struct virtio_job *j)
{
	const struct virtio_options *o = j->td->eo;
	uint64_t now = clock_ns();

	if (now - j->aged_ns < 1000000000)
		return;
	j->aged_ns = now;
	j->queue.age++;
	if (blk_queue_stuck(&j->queue, o->stuck_timeout))
		die(j, ETIMEDOUT);
}

/**
 * virtio_job_getevents - fio hook: find completions
 * @td: the job
 * @min: how many to wait for
 * @max: how many to return at most
 * @t: how long to wait, NULL for no limit but stuck_timeout
 *
 * Return: completions found. In a dead job all that was in flight is among them.
 */
int virtio_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			 const struct timespec *t)
{
	struct virtio_job *j = job(td);
	const struct virtio_options *o = td->eo;
	uint64_t timeout = o->stuck_timeout * 1000000000ull;
	bool limited = false;

	if (t && min) {
		uint64_t ns = t->tv_sec * 1000000000ull + t->tv_nsec;

		limited = ns < timeout;
		timeout = limited ? ns : timeout;
	}
	if (!(++j->calls % CALLS_PER_CLOCK))
		check_age(j);

	j->nr_event = 0;
	while (!j->dead) {
		int ret;

		reap(j, max);
		continue_waiting(j);
		if ((j->nr_event && j->nr_event >= min) || j->dead)
			break;
		ret = blk_queue_settle(&j->queue);
		if (!ret && j->nr_event >= min)
			break;
		if (!ret)
			ret = waiter_wait(&j->waiter, timeout);
		if (ret == -ETIMEDOUT && limited)
			break;
		if (ret)
			die(j, -ret);
	}
	if (j->dead)
		fail_all(j);
	return j->nr_event;
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
	return job(td)->event[event];
}
