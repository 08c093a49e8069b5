/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/nbd/job.h"

/* The path of a request: queue, commit, getevents, event. */

static struct nbd_job *job(struct thread_data *td)
{
	return td->io_ops_data;
}

/* The job ends: whatever is in flight has failed, and nothing more will be queued. */
static void die(struct nbd_job *j, int err)
{
	struct thread_data *td = j->f.td;
	const struct nbd_options *o = td->eo;

	if (j->f.dead)
		return;
	j->f.dead = err;
	switch (err) {
	case ETIMEDOUT:
		glue_fail(td, err, "no answer from %s for %u s (stuck_timeout)", o->uri, o->stuck_timeout);
		break;
	case ESHUTDOWN:
		glue_fail(td, err, "the server %s is shutting down", o->uri);
		break;
	case ECONNRESET:
		glue_fail(td, err, "%s has closed the connection", o->uri);
		break;
	case EPROTO:
		glue_fail(td, err, "%s breaks the protocol: %s", o->uri, j->client.fault);
		break;
	default:
		glue_fail(td, err, "%s: %s", o->uri, strerror(err));
		break;
	}
}

static uint16_t command(const struct nbd_job *j, enum fio_ddir ddir)
{
	const struct nbd_options *o = j->f.td->eo;

	switch (ddir) {
	case DDIR_READ:
		return NBD_CMD_READ;
	case DDIR_WRITE:
		return NBD_CMD_WRITE;
	case DDIR_TRIM:
		return o->trim_as == NBD_TRIM_AS_ZEROES ? NBD_CMD_WRITE_ZEROES : NBD_CMD_TRIM;
	default:
		return NBD_CMD_FLUSH;
	}
}

/* Queue as much of an io_u as there are slots; returns whether that was all. */
static bool issue(struct nbd_job *j, struct job_io *io)
{
	struct io_u *io_u = io->io_u;
	uint16_t type = command(j, io_u->ddir);
	uint32_t max = j->limits.max_payload;

	if (unlikely(type == NBD_CMD_FLUSH)) {
		if (!j->client.nr_free)
			return false;
		nbd_client_queue(&j->client, type, 0, 0, 0, NULL, io);
		io->parts++;
		return true;
	}

	do {
		uint64_t left = io_u->xfer_buflen - io->issued;
		uint32_t len = left < max ? left : max;

		if (!j->client.nr_free)
			return false;
		nbd_client_queue(&j->client, type, type == NBD_CMD_READ ? 0 : j->write_flags,
				 io_u->offset + io->issued, len,
				 (char *)io_u->xfer_buf + io->issued, io);
		io->issued += len;
		io->parts++;
	} while (io->issued < io_u->xfer_buflen);
	return true;
}

/**
 * nbd_job_queue - fio hook: queue an io_u; it is sent at commit
 * @td: the job
 * @io_u: what to do
 *
 * Return: FIO_Q_QUEUED, or FIO_Q_COMPLETED with an error or when there is nothing to do.
 */
enum fio_q_status nbd_job_queue(struct thread_data *td, struct io_u *io_u)
{
	struct nbd_job *j = job(td);
	struct job_io *io;

	fio_ro_check(td, io_u);
	if (!job_admits(&j->f, io_u, j->limits.flush, true))
		return FIO_Q_COMPLETED;
	io = job_begin(io_u);
	if (j->f.nr_waiting || !issue(j, io))
		job_wait(&j->f, io);
	job_queued(&j->f, io);
	return FIO_Q_QUEUED;
}

static void send_queued(struct nbd_job *j)
{
	int ret;

	if (!j->f.nr_queued || j->f.dead)
		return;
	ret = nbd_client_send(&j->client);
	if (ret < 0)
		die(j, -ret);
	job_committed(&j->f);
}

/**
 * nbd_job_commit - fio hook: send what was queued
 * @td: the job
 *
 * Replies that came together are taken one by one, and each makes room for a request. Those
 * requests leave together, when the last of the replies has been taken.
 *
 * Return: 0. A broken connection makes the job dead, which getevents() tells.
 */
int nbd_job_commit(struct thread_data *td)
{
	struct nbd_job *j = job(td);

	if (!j->hold || !nbd_client_has_replies(&j->client))
		send_queued(j);
	return 0;
}

/* Go on with what had to wait for slots. */
static void continue_waiting(struct nbd_job *j)
{
	int ret;

	if (!j->f.nr_waiting || j->f.dead)
		return;
	while (j->f.nr_waiting && issue(j, job_first_waiting(&j->f)))
		job_end_wait(&j->f);
	ret = nbd_client_send(&j->client);
	if (ret < 0)
		die(j, -ret);
}

/* A failed request, with what the server said about the first one that it explained. */
static void look_at_error(struct nbd_job *j, int err)
{
	if (j->client.complaint[0] && !j->complained) {
		j->complained = true;
		log_err("%s: the server says: %s\n", j->f.td->o.name, j->client.complaint);
	}
	/* The specification wants a client to leave then. */
	if (err == ESHUTDOWN)
		die(j, err);
}

/* Take completions until @max io_us are done or none is there. */
static void reap(struct nbd_job *j, unsigned int max)
{
	while (j->f.nr_event < max) {
		void *io;
		int err, ret = nbd_client_next(&j->client, &io, &err);

		if (ret < 0)
			die(j, -ret);
		if (ret <= 0)
			return;
		job_part_done(&j->f, io, err);
		if (unlikely(err))
			look_at_error(j, err);
	}
}

static void check_age(struct nbd_job *j)
{
	const struct nbd_options *o = j->f.td->eo;

	if (!job_second_passed(&j->f))
		return;
	j->client.age++;
	if (nbd_client_stuck(&j->client, o->stuck_timeout))
		die(j, ETIMEDOUT);
}

/**
 * nbd_job_getevents - fio hook: find completions
 * @td: the job
 * @min: how many to wait for
 * @max: how many to return at most
 * @t: fio's limit of 0 for a @min of 0, else NULL
 *
 * Return: completions found. In a dead job all that was in flight is among them.
 */
int nbd_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		      const struct timespec *t)
{
	struct nbd_job *j = job(td);
	bool looked = false;

	(void)t;
	j->f.nr_event = 0;
	while (!j->f.dead) {
		int ret;

		reap(j, max);
		continue_waiting(j);
		if (j->f.dead || (j->f.nr_event >= min && (j->f.nr_event || looked)))
			break;
		looked = true;
		send_queued(j);
		ret = min ? nbd_client_wait(&j->client) : nbd_client_look(&j->client);
		/* Whatever came: a server that is busy with one request may never end another. */
		if (ret < 0)
			die(j, -ret);
		else
			check_age(j);
	}
	if (j->f.dead)
		job_fail_all(&j->f);
	glue_trace_return(j->client.trace, j->f.nr_event);
	return j->f.nr_event;
}

/**
 * nbd_job_event - fio hook: one of the completions that getevents() found
 * @td: the job
 * @event: which
 *
 * Return: its io_u.
 */
struct io_u *nbd_job_event(struct thread_data *td, int event)
{
	return job(td)->f.event[event];
}
