/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/glue/job.h"

/*
 * The yardstick: what fio itself can issue at a depth. Every io_u is taken, touches
 * nothing and completes at the next getevents(). fio's null engine is none above depth 1,
 * as it answers BUSY while events are pending.
 */

/**
 * struct noop_job - io_us in flight, oldest first
 * @queued: ring of @size of them
 * @size: iodepth
 * @first: place of the oldest
 * @nr: how many there are
 * @found: place of the first that the last getevents() returned
 */
struct noop_job {
	struct io_u **queued;
	unsigned int size;
	unsigned int first;
	unsigned int nr;
	unsigned int found;
};

static unsigned int place(const struct noop_job *j, unsigned int i)
{
	return i < j->size ? i : i - j->size;
}

static int noop_setup(struct thread_data *td)
{
	int ret = glue_add_file(td, "noop", td->o.size ? td->o.start_offset + td->o.size : 1u << 30);

	if (ret)
		td_verror(td, -ret, "size");
	return ret ? 1 : 0;
}

static int noop_init(struct thread_data *td)
{
	struct noop_job *j = calloc(1, sizeof(*j));

	if (j)
		j->queued = calloc(td->o.iodepth, sizeof(*j->queued));
	if (!j || !j->queued) {
		free(j);
		return ENOMEM;
	}
	j->size = td->o.iodepth;
	td->io_ops_data = j;
	return 0;
}

static void noop_cleanup(struct thread_data *td)
{
	struct noop_job *j = td->io_ops_data;

	if (!j)
		return;
	free(j->queued);
	free(j);
}

static enum fio_q_status noop_queue(struct thread_data *td, struct io_u *io_u)
{
	struct noop_job *j = td->io_ops_data;

	fio_ro_check(td, io_u);
	j->queued[place(j, j->first + j->nr++)] = io_u;
	return FIO_Q_QUEUED;
}

/* With a commit hook fio batches as it does for the other engines; it has to be told that
 * the io_us are issued. */
static int noop_commit(struct thread_data *td)
{
	io_u_mark_submit(td, td->io_u_queued);
	return 0;
}

static int noop_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			  const struct timespec *t)
{
	struct noop_job *j = td->io_ops_data;
	unsigned int nr = j->nr < max ? j->nr : max;

	(void)min;
	(void)t;
	j->found = j->first;
	j->first = place(j, j->first + nr);
	j->nr -= nr;
	return nr;
}

static struct io_u *noop_event(struct thread_data *td, int event)
{
	struct noop_job *j = td->io_ops_data;

	return j->queued[place(j, j->found + event)];
}

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "dataplane-noop",
	.version	= FIO_IOOPS_VERSION,
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND,
	.setup		= noop_setup,
	.init		= noop_init,
	.cleanup	= noop_cleanup,
	.open_file	= job_no_file,
	.close_file	= job_no_file,
	.invalidate	= job_no_file,
	.queue		= noop_queue,
	.commit		= noop_commit,
	.getevents	= noop_getevents,
	.event		= noop_event,
};
