/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_JOB_H
#define ENGINES_GLUE_JOB_H

#include "base/json.h"
#include "engines/glue/options.h"
#include "wire/trace.h"

/*
 * What the jobs of all engines with a peer are: fio's io_us on their way, and a wait for them.
 * Nothing is allocated once a job runs; completions come back in the order in which they are found.
 * engines/glue/loop.h has the path of a request.
 */

/**
 * struct job_io - an io_u on its way; one request, or several where the peer's limits make that
 *	necessary
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
 * struct job_trace - a job's trace
 * @file: the file; others may write into it too
 * @ring: the job's own part, NULL when there is no trace, and then @file is nothing
 */
struct job_trace {
	struct trace file;
	struct trace_ring *ring;
};

/**
 * struct job - a job of fio; at the head of its engine's own, which is in td->io_ops_data
 * @td: fio's
 * @ops: the engine's
 * @peer: what it talks to, for messages
 * @fault: how the peer has broken the protocol, or what else is wrong with it; NULL where the
 *	errno is all there is to say
 * @takes_flush: the peer has flushes
 * @takes_trim: it takes trims, or says itself that it does not
 * @returns: the peer may go away and come back, so that only the age of requests counts
 * @came_back: it has
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
 * @aged_ns: when a second of the requests' age last ended
 * @waiter: how it waits for completions
 * @trace: what happens to its requests
 */
struct job {
	struct thread_data *td;
	const struct job_ops *ops;
	const char *peer;
	const char *fault;
	bool takes_flush;
	bool takes_trim;
	bool returns;
	bool came_back;
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
	struct waiter waiter;
	struct job_trace trace;
};

/**
 * struct job_ops - what an engine adds to the job loop
 * @issue: queue as much of an io_u as there are slots; returns whether that was all
 * @submit: let the peer have all that is queued
 * @before_wait: nothing is at hand and the job is going to wait: see to it that the peer knows of all
 *	that was submitted
 * @next: take a completion, a request's io_u and errno; 1 with one, 0 without
 * @failed: a request has come back with this errno; may be NULL
 * @stuck: so many seconds more have passed; returns whether a request is too old now
 * @stats: what the engine has counted, as members of an object
 * @wait: how completions reach the job
 *
 * @submit and @before_wait return 0, and all three a negative errno that ends the job. The loop is given
 * these as constants, so that calls of the path of a request are direct or inlined.
 */
struct job_ops {
	bool (*issue)(struct job *j, struct job_io *io);
	int (*submit)(struct job *j);
	int (*before_wait)(struct job *j);
	int (*next)(struct job *j, struct job_io **io, int *err);
	void (*failed)(struct job *j, int err);
	bool (*stuck)(struct job *j, unsigned int seconds, unsigned int max);
	void (*stats)(struct job *j, struct json *w);
	struct wait_ops wait;
};

static inline struct job *job_of(const struct thread_data *td)
{
	return td->io_ops_data;
}

static inline const struct job_options *job_options(const struct job *j)
{
	return j->td->eo;
}

void *job_alloc(struct thread_data *td, size_t size, const struct job_ops *ops);
void job_free(struct job *j);
void job_init_waiter(struct job *j);

void job_die(struct job *j, int err);
void job_check_age(struct job *j, uint64_t waited_ns);
void job_wait_failed(struct job *j, int err);
void job_committed(struct job *j);
int job_no_buffer(struct job *j);
void job_sync_failed(struct job *j, const struct io_u *io_u, int err);

int job_trace_begin(struct job *j);
int job_save_stats(struct job *j);

/* Hooks of fio that are the same in all engines. */
int job_io_u_init(struct thread_data *td, struct io_u *io_u);
int job_no_file(struct thread_data *td, struct fio_file *f);
struct io_u *job_event(struct thread_data *td, int event);

#define JOB_HOOKS \
	.version	= FIO_IOOPS_VERSION, \
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NO_OFFLOAD | \
			  FIO_ASYNCIO_SETS_ISSUE_TIME, \
	.close_file	= job_no_file, \
	.invalidate	= job_no_file, \
	.io_u_init	= job_io_u_init, \
	.event		= job_event

#endif
