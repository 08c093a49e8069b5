/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/alloc.h"
#include "base/clock.h"
#include "engines/glue/glue.h"
#include "engines/glue/job.h"
#include "td_error.h"

/* The life of a job, and what happens now and then only; the path of a request is in loop.h. */

#define SECOND_NS	1000000000ull

/**
 * job_alloc - make a job, in init()
 * @td: fio's
 * @size: bytes of the engine's own, which begins with a struct job
 * @ops: the engine's
 *
 * Return: the engine's own, its struct job filled in but for the peer and the waiter; or NULL,
 * reported.
 */
void *job_alloc(struct thread_data *td, size_t size, const struct job_ops *ops)
{
	struct job *j = alloc_apart(1, size);

	if (!j)
		goto no_memory;
	j->td = td;
	j->ops = ops;
	j->aged_ns = clock_coarse_ns();
	j->io = calloc(td->o.iodepth, sizeof(*j->io));
	j->waiting = calloc(td->o.iodepth, sizeof(*j->waiting));
	j->queued = calloc(td->o.iodepth, sizeof(*j->queued));
	j->event = calloc(td->o.iodepth, sizeof(*j->event));
	if (!j->io || !j->waiting || !j->queued || !j->event)
		goto no_memory;
	if (!job_trace_begin(j))
		return j;
	job_free(j);
	return NULL;
no_memory:
	glue_fail(td, ENOMEM, "no memory for %u requests", td->o.iodepth);
	if (j)
		job_free(j);
	return NULL;
}

/**
 * job_free - the end of a job
 * @j: the job; nobody writes into its trace any more
 */
void job_free(struct job *j)
{
	if (j->trace.ring)
		trace_close(&j->trace.file);
	free(j->io);
	free(j->waiting);
	free(j->queued);
	free(j->event);
	free(j);
}

/**
 * job_init_waiter - set up how a job waits, as its options say
 * @j: the job, which is connected to its peer
 */
void job_init_waiter(struct job *j)
{
	const struct job_options *o = job_options(j);

	waiter_init(&j->waiter, o->wait_mode, o->wait_poll_max_ns, &j->ops->wait, j, j->trace.ring);
}

/**
 * job_die - end a job: all that is in flight has failed, and nothing more will be queued
 * @j: the job; the first reason stays
 * @err: why, a positive errno
 */
void job_die(struct job *j, int err)
{
	if (j->dead)
		return;
	j->dead = err;
	if (err == ETIMEDOUT)
		glue_fail(j->td, err, "no answer from %s for %u s (stuck_timeout)%s", j->peer,
			  job_options(j)->stuck_timeout, j->came_back ? ", although it has come back" : "");
	else if (err == ECONNRESET)
		glue_fail(j->td, err, "%s has closed the connection", j->peer);
	else if (err == ESHUTDOWN)
		glue_fail(j->td, err, "%s is shutting down", j->peer);
	else if (err == EPROTO && j->fault)
		glue_fail(j->td, err, "%s breaks the protocol: %s", j->peer, j->fault);
	else
		glue_fail(j->td, err, "%s: %s", j->peer, j->fault ? j->fault : strerror(err));
}

/* Returns how many seconds older requests are than at the last look. */
static unsigned int seconds_passed(struct job *j, uint64_t waited_ns)
{
	uint64_t now = clock_coarse_ns(), passed = now - j->aged_ns;

	if (waited_ns >= SECOND_NS) {
		j->aged_ns = now;
		return waited_ns / SECOND_NS;
	}
	if (passed < SECOND_NS)
		return 0;
	/* Of looks in short succession nothing is lost; a long absence counts as one second. */
	j->aged_ns += passed < 2 * SECOND_NS ? SECOND_NS : passed;
	return 1;
}

/**
 * job_check_age - look for requests that are stuck: others may be answered meanwhile
 * @j: the job
 * @waited_ns: how long its last wait was
 *
 * Ages are in seconds that the job has looked for completions or waited for them, so that one
 * which was busy elsewhere (thinktime=) does not find its requests too old.
 */
void job_check_age(struct job *j, uint64_t waited_ns)
{
	unsigned int seconds = seconds_passed(j, waited_ns);

	if (seconds && j->ops->stuck(j, seconds, job_options(j)->stuck_timeout))
		job_die(j, ETIMEDOUT);
}

/**
 * job_wait_failed - a wait has ended without a completion: the job waits on, or is dead
 * @j: the job
 * @err: why, a negative errno
 */
void job_wait_failed(struct job *j, int err)
{
	if (err == -ETIMEDOUT && j->returns)
		job_check_age(j, j->waiter.waited_ns);
	else
		job_die(j, -err);
}

/**
 * job_no_buffer - refuse a read or a write that has no memory, and say so once
 * @j: the job
 *
 * Return: EFAULT, the error of that I/O.
 */
int job_no_buffer(struct job *j)
{
	if (!j->bufferless)
		log_err("%s: fio asks for a read or a write without a buffer, as it does to verify a job that only trims\n",
			j->td->o.name);
	j->bufferless = true;
	return EFAULT;
}

/**
 * job_sync_failed - end the job for a flush that failed
 * @j: the job
 * @io_u: the flush
 * @err: a positive errno
 *
 * fio does not look at the error of a sync that comes back from getevents() (io_completed()), so
 * that this does what it does for other requests. With continue_on_error= the error is counted.
 */
void job_sync_failed(struct job *j, const struct io_u *io_u, int err)
{
	struct thread_data *td = j->td;

	if (j->dead)
		return;
	if (td_non_fatal_error(td, td_error_type(io_u->ddir, err), err))
		update_error_count(td, err);
	else
		glue_fail(td, err, "a flush has failed: %s", strerror(err));
}

/**
 * job_committed - tell fio that what was queued is on its way
 * @j: the job
 *
 * clat starts here: one clock reading for the batch, taken once the device can see it, as
 * fio's io_uring engine does. Before, it would only delay the device.
 */
void job_committed(struct job *j)
{
	struct timespec now;

	io_u_mark_submit(j->td, j->nr_queued);
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
 * job_io_u_init - fio hook: attach our record to fio's
 * @td: the job
 * @io_u: one of iodepth
 *
 * Return: 0.
 */
int job_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	struct job *j = job_of(td);

	io_u->engine_data = &j->io[j->nr_io++];
	return 0;
}

/**
 * job_no_file - fio hook: nothing to close, and no cache on this side to invalidate
 * @td: the job
 * @f: its file
 *
 * Return: 0.
 */
int job_no_file(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

/**
 * job_event - fio hook: one of the completions that getevents() found
 * @td: the job
 * @event: which
 *
 * Return: its io_u.
 */
struct io_u *job_event(struct thread_data *td, int event)
{
	return job_of(td)->event[event];
}
