/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_LOOP_H
#define ENGINES_GLUE_LOOP_H

#include "engines/glue/job.h"

/*
 * The path of a request: queue, commit, getevents. An engine's hooks of these names call the three
 * functions at the end with its struct job_ops as a constant.
 */

#define LOOP	static __attribute__((always_inline)) inline

/* Calls of getevents() between two looks at the clock. */
#define CALLS_PER_CLOCK	1024

/*
 * Whether an io_u that comes in has something to ask of the peer; if not, it is complete already.
 *
 * A device without flushes has no cache, and what has completed is as durable as it gets: so does
 * Linux take an NBD server without them. Jobs that ask for flushes there may have been refused
 * at the start, but fio has some of its own, before it verifies. A log (read_iolog=) may ask for a
 * trim.
 */
LOOP bool job_admits(struct job *j, struct io_u *io_u)
{
	if (unlikely(j->dead)) {
		io_u->error = j->dead;
		return false;
	}
	switch (io_u->ddir) {
	case DDIR_READ:
	case DDIR_WRITE:
		/* fio gives a job that only trims no buffers, and may have it verify all the same. */
		if (unlikely(!io_u->xfer_buf)) {
			io_u->error = job_no_buffer(j);
			return false;
		}
		return io_u->xfer_buflen;
	case DDIR_TRIM:
		if (!j->takes_trim) {
			io_u->error = EOPNOTSUPP;
			return false;
		}
		return io_u->xfer_buflen;
	case DDIR_SYNC:
	case DDIR_DATASYNC:
	case DDIR_SYNC_FILE_RANGE:
		return j->takes_flush;
	default:
		io_u->error = EINVAL;
		return false;
	}
}

/*
 * Queue as much of an io_u as there are slots, in requests of up to @max bytes; returns whether that
 * was all. @request queues the next, of @len bytes: 0 for a flush.
 */
LOOP bool issue_parts(struct job *j, struct job_io *io, uint32_t max, const unsigned int *nr_free,
		      void (*request)(struct job *j, struct job_io *io, uint32_t len))
{
	uint64_t total = likely(ddir_rw(io->io_u->ddir)) ? io->io_u->xfer_buflen : 0;

	do {
		uint64_t left = total - io->issued;
		uint32_t len = left < max ? left : max;

		if (!*nr_free)
			return false;
		request(j, io, len);
		io->issued += len;
		io->parts++;
	} while (io->issued < total);
	return true;
}

/*
 * An io_u without a slot waits, and so do all that come after it. fio is not told that the queue is
 * full: to a write that it has to offer twice it gives a second verify seed, of which its own
 * verification knows nothing (backend.c, do_io()).
 */
LOOP void wait_for_slot(struct job *j, struct job_io *io)
{
	io->waits = true;
	j->waiting[(j->first_waiting + j->nr_waiting++) % j->nr_io] = io;
}

static inline void continue_waiting(struct job *j, const struct job_ops *ops)
{
	int ret;

	while (j->nr_waiting) {
		struct job_io *io = j->waiting[j->first_waiting];

		if (!ops->issue(j, io))
			break;
		io->waits = false;
		j->first_waiting = (j->first_waiting + 1) % j->nr_io;
		j->nr_waiting--;
	}
	ret = ops->submit(j);
	if (ret)
		job_die(j, -ret);
}

LOOP void complete(struct job *j, struct job_io *io, int err)
{
	io->busy = false;
	io->waits = false;
	io->io_u->error = err;
	if (unlikely(err) && ddir_sync(io->io_u->ddir))
		job_sync_failed(j, io->io_u, err);
	j->event[j->nr_event++] = io->io_u;
}

/* Everything fio waits for comes back at once, with the errno that ended the job. */
static inline void fail_all(struct job *j)
{
	j->nr_waiting = 0;
	for (unsigned int i = 0; i < j->nr_io; i++) {
		if (j->io[i].busy)
			complete(j, &j->io[i], j->dead);
	}
}

/* Take completions until @max io_us are done or none is there. */
LOOP void reap(struct job *j, const struct job_ops *ops, unsigned int max)
{
	while (j->nr_event < max) {
		struct job_io *io;
		int err, ret = ops->next(j, &io, &err);

		if (ret < 0)
			job_die(j, -ret);
		if (ret <= 0)
			return;
		if (unlikely(err)) {
			if (!io->error)
				io->error = err;
			if (ops->failed)
				ops->failed(j, err);
		}
		if (!--io->parts && !io->waits)
			complete(j, io, io->error);
	}
}

/* Returns as waiter_wait(); without anything to wait for, after a single look. */
LOOP int wait_for_some(struct job *j, const struct job_ops *ops, unsigned int min)
{
	int ret = ops->before_wait(j);

	if (ret)
		return ret;
	if (min)
		return waiter_wait(&j->waiter, &ops->wait, job_options(j)->stuck_timeout * 1000000000ull);
	ret = ops->wait.look(j);
	return ret < 0 ? ret : 0;
}

/**
 * job_queue - fio hook: queue an io_u; the peer sees it at commit
 * @td: the job
 * @io_u: what to do
 * @ops: the engine's
 *
 * Return: FIO_Q_QUEUED, or FIO_Q_COMPLETED with an error or when there is nothing to do.
 */
LOOP enum fio_q_status job_queue(struct thread_data *td, struct io_u *io_u,
				 const struct job_ops *ops)
{
	struct job_io *io = io_u->engine_data;
	struct job *j = job_of(td);

	fio_ro_check(td, io_u);
	if (!job_admits(j, io_u))
		return FIO_Q_COMPLETED;
	*io = (struct job_io) { .io_u = io_u, .busy = true };
	if (j->nr_waiting || !ops->issue(j, io))
		wait_for_slot(j, io);
	j->queued[j->nr_queued++] = io_u;
	return FIO_Q_QUEUED;
}

/**
 * job_commit - fio hook: let the peer have what was queued
 * @td: the job
 * @ops: the engine's
 *
 * Return: 0. A peer that cannot be had makes the job dead, which getevents() tells.
 */
LOOP int job_commit(struct thread_data *td, const struct job_ops *ops)
{
	struct job *j = job_of(td);
	int ret;

	if (!j->nr_queued || j->dead)
		return 0;
	ret = ops->submit(j);
	if (ret)
		job_die(j, -ret);
	job_committed(j);
	return 0;
}

/**
 * job_getevents - fio hook: find completions
 * @td: the job
 * @min: how many to wait for; fio gives a time limit, of 0, only with a @min of 0
 * @max: how many to return at most
 * @ops: the engine's
 *
 * Return: completions found. In a dead job all that was in flight is among them.
 */
LOOP int job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		       const struct job_ops *ops)
{
	struct job *j = job_of(td);
	bool waited = false;
	int ret = 0;

	if (unlikely(!(++j->calls % CALLS_PER_CLOCK)))
		job_check_age(j, 0);
	j->nr_event = 0;
	while (likely(!j->dead)) {
		reap(j, ops, max);
		if (unlikely(ret > 0))
			job_check_age(j, j->waiter.waited_ns);
		if (unlikely(j->nr_waiting))
			continue_waiting(j, ops);
		if (j->dead || (j->nr_event >= min && (j->nr_event || waited)))
			break;
		ret = wait_for_some(j, ops, min);
		if (unlikely(ret < 0))
			job_wait_failed(j, ret);
		waited = true;
	}
	if (unlikely(j->dead))
		fail_all(j);
	PROBE1(returned, IN_REG(j->nr_event));
	if (unlikely(j->trace.ring) && j->nr_event)
		trace_note(j->trace.ring, TRACE_RETURN, 0, 0, j->nr_event);
	return j->nr_event;
}

#endif
