/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_JOB_H
#define ENGINES_GLUE_JOB_H

#include "base/clock.h"
#include "engines/glue/fio-compat.h"

/*
 * The io_us of a job on their way through an engine. Nothing is allocated once the job
 * runs; completions come back in the order in which the engine reports them.
 */

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
 * struct job - a job, towards fio: its io_us on their way
 * @td: the job
 * @io: one for each io_u of the job
 * @nr_io: how many; iodepth
 * @waiting: ring of those that wait for free slots, oldest first
 * @first_waiting: where the oldest is
 * @nr_waiting: how many
 * @queued: io_us queued since the last commit
 * @nr_queued: how many
 * @event: io_us found complete since the last getevents()
 * @nr_event: how many
 * @dead: errno that ended the job's I/O, 0 while it is well; never cleared
 * @calls: of getevents(), to look at the clock now and then only
 * @bufferless: it has been said that a request had no buffer
 * @aged_ns: when job_second_passed() last said that a second has passed
 */
struct job {
	struct thread_data *td;
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
	bool bufferless;
	uint64_t aged_ns;
};

int job_alloc(struct job *f, struct thread_data *td);
void job_free(struct job *f);
void job_committed(struct job *f);
int job_no_buffer(struct job *f);
void job_sync_failed(struct job *f, const struct io_u *io_u, int err);

/**
 * job_add - attach a record to an io_u, in io_u_init()
 * @f: the job's
 * @io_u: one of iodepth
 */
static inline void job_add(struct job *f, struct io_u *io_u)
{
	io_u->engine_data = &f->io[f->nr_io++];
}

/**
 * job_admits - whether an io_u that comes in has something to ask of the device
 * @f: the job's
 * @io_u: fio's; given its error, if it has one
 * @has_flush: the device has flushes
 * @has_trim: it takes trims, or says itself that it does not; a log may ask for one (read_iolog=)
 *
 * A device without flushes has no cache, and what has completed is as durable as it gets: so does
 * Linux take an NBD server without them. Jobs that ask for flushes there may have been refused
 * at the start, but fio has some of its own, before it verifies.
 *
 * Return: true to go on with it; false when it is complete already, as FIO_Q_COMPLETED says.
 */
static inline bool job_admits(struct job *f, struct io_u *io_u, bool has_flush,
				   bool has_trim)
{
	if (unlikely(f->dead)) {
		io_u->error = f->dead;
		return false;
	}
	switch (io_u->ddir) {
	case DDIR_READ:
	case DDIR_WRITE:
		/* fio gives a job that only trims no buffers, and may have it verify all the same. */
		if (unlikely(!io_u->xfer_buf)) {
			io_u->error = job_no_buffer(f);
			return false;
		}
		return io_u->xfer_buflen;
	case DDIR_TRIM:
		if (!has_trim) {
			io_u->error = EOPNOTSUPP;
			return false;
		}
		return io_u->xfer_buflen;
	case DDIR_SYNC:
	case DDIR_DATASYNC:
	case DDIR_SYNC_FILE_RANGE:
		return has_flush;
	default:
		io_u->error = EINVAL;
		return false;
	}
}

/**
 * job_begin - an io_u comes in
 * @io_u: fio's
 *
 * Return: its record, blank.
 */
static inline struct job_io *job_begin(struct io_u *io_u)
{
	struct job_io *io = io_u->engine_data;

	*io = (struct job_io) { .io_u = io_u };
	return io;
}

/**
 * job_queued - it is queued: fio hears of it again from getevents()
 * @f: the job's
 * @io: the record
 */
static inline void job_queued(struct job *f, struct job_io *io)
{
	io->busy = true;
	f->queued[f->nr_queued++] = io->io_u;
}

/**
 * job_wait - an io_u without a slot waits here, and all that come after it
 * @f: the job's
 * @io: the record
 *
 * fio is not told that the queue is full: to a write that it has to offer twice it gives
 * a second verify seed, of which its own verification knows nothing (backend.c, do_io()).
 */
static inline void job_wait(struct job *f, struct job_io *io)
{
	io->waits = true;
	f->waiting[(f->first_waiting + f->nr_waiting++) % f->nr_io] = io;
}

/* The one that has waited longest, of at least one. */
static inline struct job_io *job_first_waiting(const struct job *f)
{
	return f->waiting[f->first_waiting];
}

/* All of it is in requests now. */
static inline void job_end_wait(struct job *f)
{
	job_first_waiting(f)->waits = false;
	f->first_waiting = (f->first_waiting + 1) % f->nr_io;
	f->nr_waiting--;
}

static inline void job_complete(struct job *f, struct job_io *io, int err)
{
	io->busy = false;
	io->waits = false;
	io->io_u->error = err;
	if (unlikely(err) && ddir_sync(io->io_u->ddir))
		job_sync_failed(f, io->io_u, err);
	f->event[f->nr_event++] = io->io_u;
}

/**
 * job_part_done - a request of an io_u is complete
 * @f: the job's
 * @io: the record
 * @err: 0 or a positive errno
 */
static inline void job_part_done(struct job *f, struct job_io *io, int err)
{
	if (err && !io->error)
		io->error = err;
	if (!--io->parts && !io->waits)
		job_complete(f, io, io->error);
}

/* Everything fio waits for comes back at once, with the errno that ended the job. */
static inline void job_fail_all(struct job *f)
{
	f->nr_waiting = 0;
	for (unsigned int i = 0; i < f->nr_io; i++) {
		if (f->io[i].busy)
			job_complete(f, &f->io[i], f->dead);
	}
}

/**
 * job_second_passed - whether it is time to look for requests that are stuck
 * @f: the job's
 *
 * Age is counted in seconds that the job has looked for completions, so that a job which
 * was busy elsewhere (thinktime=) does not find its requests too old.
 *
 * Return: true once a second.
 */
static inline bool job_second_passed(struct job *f)
{
	uint64_t passed = clock_coarse_ns() - f->aged_ns;

	if (passed < 1000000000)
		return false;
	/* Of looks in short succession nothing is lost; a long absence counts as one second. */
	f->aged_ns += passed < 2000000000 ? 1000000000 : passed;
	return true;
}

/* The job has waited for seconds, and counts them itself. */
static inline void job_waited(struct job *f)
{
	f->aged_ns = clock_coarse_ns();
}

#endif
