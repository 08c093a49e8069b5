/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/loop.h"
#include "engines/nbd/job.h"

/* The path of a request, as far as NBD is concerned: see engines/glue/loop.h. */

/* Looks at the sockets between two looks at the clock; one costs a system call. */
#define LOOKS_PER_CLOCK	64

/* The same when the CPU is wanted by others. */
#define LOOKS_CROWDED	4

_Static_assert(NBD_CONNECTIONS_MAX <= WAIT_FDS_MAX, "a job sleeps on all its connections");

static inline struct nbd_job *nbd(struct job *j)
{
	return (struct nbd_job *)j;
}

static uint16_t command(const struct nbd_job *n, enum fio_ddir ddir)
{
	const struct nbd_options *o = n->job.td->eo;

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

static void queue_request(struct job *j, struct job_io *io, uint32_t len)
{
	const struct io_u *io_u = io->io_u;
	uint16_t type = command(nbd(j), io_u->ddir);

	if (unlikely(type == NBD_CMD_FLUSH))
		nbd_client_queue(&nbd(j)->client, type, 0, 0, 0, NULL, io);
	else
		nbd_client_queue(&nbd(j)->client, type, type == NBD_CMD_READ ? 0 : nbd(j)->write_flags,
				 io_u->offset + io->issued, len,
				 (char *)io_u->xfer_buf + io->issued, io);
}

LOOP bool issue(struct job *j, struct job_io *io)
{
	return issue_parts(j, io, nbd(j)->limits.max_payload, &nbd(j)->client.nr_free, queue_request);
}

LOOP int submit(struct job *j)
{
	return nbd_client_send(&nbd(j)->client);
}

/* Requests that waited for the last of the replies leave now. */
LOOP int before_wait(struct job *j)
{
	if (nbd(j)->held) {
		nbd(j)->held = false;
		job_commit(j->td, &nbd_job_ops);
	}
	return 0;
}

LOOP int next(struct job *j, struct job_io **io, int *err)
{
	return nbd_client_next(&nbd(j)->client, (void **)io, err);
}

/* A failed request, with what the server said about the first one that it explained. */
static void failed(struct job *j, int err)
{
	struct nbd_job *n = nbd(j);

	if (n->client.complaint[0] && !n->complained) {
		n->complained = true;
		log_err("%s: the server says: %s\n", j->td->o.name, n->client.complaint);
	}
	/* The specification wants a client to leave then. */
	if (err == ESHUTDOWN)
		job_die(j, err);
}

static bool stuck(struct job *j, unsigned int seconds, unsigned int max)
{
	nbd(j)->client.age += seconds;
	return nbd_client_stuck(&nbd(j)->client, max);
}

LOOP int look(struct job *j)
{
	return nbd_client_look(&nbd(j)->client);
}

static int before_sleep(struct job *j)
{
	return nbd_client_before_sleep(&nbd(j)->client);
}

/*
 * Not a receive that waits: on a unix socket that would be woken up by the server taking
 * the request off the socket, too, which poll(2) knows to ignore.
 */
static unsigned int fds(struct job *j, struct pollfd *p)
{
	return nbd_client_fds(&nbd(j)->client, p);
}

static int woken(struct job *j, const struct pollfd *p)
{
	return nbd_client_woken(&nbd(j)->client, p);
}

const struct job_ops nbd_job_ops = {
	.issue = issue,
	.submit = submit,
	.before_wait = before_wait,
	.next = next,
	.failed = failed,
	.stuck = stuck,
	.stats = nbd_job_stats,
	.wait = {
		.look = look,
		.before_sleep = before_sleep,
		.fds = fds,
		.woken = woken,
		.looks = LOOKS_PER_CLOCK,
		.looks_crowded = LOOKS_CROWDED,
	},
};

/* fio hooks: see engines/glue/loop.h. */

enum fio_q_status nbd_job_queue(struct thread_data *td, struct io_u *io_u)
{
	return job_queue(td, io_u, &nbd_job_ops);
}

/*
 * Replies that came together are taken one by one, and each makes room for a request. Those
 * requests leave together, when the last of the replies has been taken.
 */
int nbd_job_commit(struct thread_data *td)
{
	struct nbd_job *n = td->io_ops_data;

	n->held = n->hold && nbd_client_has_replies(&n->client);
	return n->held ? 0 : job_commit(td, &nbd_job_ops);
}

int nbd_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		      const struct timespec *t)
{
	(void)t;
	return job_getevents(td, min, max, &nbd_job_ops);
}
