/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/glue/job.h"
#include "td_error.h"

/**
 * job_alloc - make room for a job's io_us
 * @f: filled in
 * @td: the job, in init()
 *
 * Return: 0, or -ENOMEM, with nothing to free.
 */
int job_alloc(struct job *f, struct thread_data *td)
{
	*f = (struct job) {
		.td = td,
		.io = calloc(td->o.iodepth, sizeof(*f->io)),
		.waiting = calloc(td->o.iodepth, sizeof(*f->waiting)),
		.queued = calloc(td->o.iodepth, sizeof(*f->queued)),
		.event = calloc(td->o.iodepth, sizeof(*f->event)),
		.aged_ns = clock_coarse_ns(),
	};
	if (f->io && f->waiting && f->queued && f->event)
		return 0;
	job_free(f);
	return -ENOMEM;
}

/**
 * job_free - give it back
 * @f: the job's; one of zeros is fine
 */
void job_free(struct job *f)
{
	free(f->io);
	free(f->waiting);
	free(f->queued);
	free(f->event);
	*f = (struct job) { 0 };
}

/**
 * job_no_buffer - refuse a read or a write that has no memory, and say so once
 * @f: the job's
 *
 * Return: EFAULT, the error of that I/O.
 */
int job_no_buffer(struct job *f)
{
	if (!f->bufferless)
		log_err("%s: fio asks for a read or a write without a buffer, as it does to verify a job that only trims\n",
			f->td->o.name);
	f->bufferless = true;
	return EFAULT;
}

/**
 * job_sync_failed - end the job for a flush that failed
 * @f: the job's
 * @io_u: the flush
 * @err: a positive errno
 *
 * fio does not look at the error of a sync that comes back from getevents() (io_completed()), so
 * that this does what it does for other requests. With continue_on_error= the error is counted.
 */
void job_sync_failed(struct job *f, const struct io_u *io_u, int err)
{
	struct thread_data *td = f->td;

	if (f->dead)
		return;
	if (td_non_fatal_error(td, td_error_type(io_u->ddir, err), err))
		update_error_count(td, err);
	else
		glue_fail(td, err, "a flush has failed: %s", strerror(err));
}

/**
 * job_committed - tell fio that what was queued is on its way
 * @f: the job's
 *
 * clat starts here: one clock reading for the batch, taken once the device can see it, as
 * fio's io_uring engine does. Before, it would only delay the device.
 */
void job_committed(struct job *f)
{
	struct timespec now;

	io_u_mark_submit(f->td, f->nr_queued);
	if (fio_fill_issue_time(f->td)) {
		fio_gettime(&now, NULL);
		if (f->td->o.read_iolog_file)
			f->td->last_issue = now;
		for (unsigned int i = 0; i < f->nr_queued; i++) {
			f->queued[i]->issue_time = now;
			io_u_queued(f->td, f->queued[i]);
		}
	}
	f->nr_queued = 0;
}
