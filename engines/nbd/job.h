/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_JOB_H
#define ENGINES_NBD_JOB_H

#include "base/alloc.h"
#include "engines/glue/job.h"
#include "engines/nbd/client.h"
#include "engines/nbd/connect.h"

/* How a connection talks after the handshake; zero is the default. */
enum nbd_datapath_kind {
	NBD_DIRECT,
	NBD_BY_LIBNBD,
};

/* What a fio trim becomes, as fio has no direction for writing zeroes. */
enum nbd_trim_kind {
	NBD_TRIM_AS_TRIM,
	NBD_TRIM_AS_ZEROES,
};

/**
 * struct nbd_options - engine options in a job file
 * @job: those of every job
 * @uri: where the server is
 * @datapath: enum nbd_datapath_kind
 * @connections: how many a job has
 * @structured_replies: ask the server for them
 * @fua: writes are durable once answered
 * @trim_as: enum nbd_trim_kind
 */
struct nbd_options {
	struct job_options job;
	char *uri;
	unsigned int datapath;
	unsigned int connections;
	unsigned int structured_replies;
	unsigned int fua;
	unsigned int trim_as;
};

/**
 * struct nbd_job - a job's connections to its server and what is in flight
 * @job: what every job has
 * @client: its connections
 * @limits: what the server can do
 * @write_flags: NBD_CMD_FLAG_FUA if writes are to be durable
 * @hold: the job takes replies as fast as it can, so that requests may wait for the last
 * @held: requests that fio has committed wait for it
 * @complained: the server's explanation of an error was passed on
 */
struct nbd_job {
	struct job job;
	struct nbd_client client;
	struct nbd_limits limits;
	uint16_t write_flags;
	bool complained;
	bool hold;
	bool held;
} __attribute__((aligned(THREAD_ALIGN)));

extern const struct job_ops nbd_job_ops;

int nbd_job_setup(struct thread_data *td);
int nbd_job_init(struct thread_data *td);
void nbd_job_cleanup(struct thread_data *td);
int nbd_job_open_file(struct thread_data *td, struct fio_file *f);

enum fio_q_status nbd_job_queue(struct thread_data *td, struct io_u *io_u);
int nbd_job_commit(struct thread_data *td);
int nbd_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		      const struct timespec *t);

void nbd_job_stats(struct job *job, struct json *w);

#endif
