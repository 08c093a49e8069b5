/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_NBD_JOB_H
#define ENGINES_NBD_JOB_H

#include "base/alloc.h"
#include "engines/glue/job.h"
#include "engines/glue/files.h"
#include "engines/nbd/client.h"
#include "engines/nbd/connect.h"
#include "engines/nbd/options.h"

/**
 * struct nbd_job - a job's connections to its server and what is in flight
 * @f: its io_us
 * @client: its connections
 * @limits: what the server can do
 * @trace: what happens to its requests
 * @write_flags: NBD_CMD_FLAG_FUA if writes are to be durable
 * @hold: the job takes replies as fast as it can, so that requests may wait for the last
 * @complained: the server's explanation of an error was passed on
 */
struct nbd_job {
	struct job f;
	struct nbd_client client;
	struct nbd_limits limits;
	struct job_trace trace;
	uint16_t write_flags;
	bool complained;
	bool hold;
} __attribute__((aligned(THREAD_ALIGN)));

int nbd_job_setup(struct thread_data *td);
int nbd_job_init(struct thread_data *td);
void nbd_job_cleanup(struct thread_data *td);
int nbd_job_open_file(struct thread_data *td, struct fio_file *f);
int nbd_job_close_file(struct thread_data *td, struct fio_file *f);
int nbd_job_invalidate(struct thread_data *td, struct fio_file *f);
int nbd_job_io_u_init(struct thread_data *td, struct io_u *io_u);

enum fio_q_status nbd_job_queue(struct thread_data *td, struct io_u *io_u);
int nbd_job_commit(struct thread_data *td);
int nbd_job_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		      const struct timespec *t);
struct io_u *nbd_job_event(struct thread_data *td, int event);

int nbd_job_save_stats(struct nbd_job *j);

#endif
