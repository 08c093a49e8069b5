/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/clock.h"
#include "engines/glue/glue.h"
#include "engines/nbd/job.h"

/* The life of a job: setup, init, files, cleanup. */

/* Requests that can be in flight, unless iodepth asks for more: parts of large ones. */
#define SLOTS_MIN	64

/**
 * struct waiting - a job that waits for its server to take it
 * @td: the job
 * @since_ns: when it began, or when it last saw another job connected
 */
struct waiting {
	struct thread_data *td;
	uint64_t since_ns;
};

/*
 * Whether another job of the run has a connection to whatever server. fio's records of
 * jobs are in memory that all jobs share, processes too; what they point to is not.
 */
static bool others_connected(const struct thread_data *td)
{
	struct thread_data *other;
	unsigned int i;

	for_each_job(other, i) {
		if (other != td && other->io_ops == &ioengine && other->io_ops_data &&
		    other->runstate >= TD_RAMP && other->runstate <= TD_FINISHING)
			return true;
	}
	return false;
}

/*
 * A server that takes one client at a time lets the others wait, and a job that waits for
 * another of the same run is not stuck.
 */
static int go_on(void *arg)
{
	struct waiting *w = arg;
	const struct nbd_options *o = w->td->eo;
	uint64_t now = clock_ns();

	if (w->td->terminate)
		return -ECANCELED;
	if (others_connected(w->td))
		w->since_ns = now;
	return now - w->since_ns < o->job.stuck_timeout * 1000000000ull ? 0 : -ETIMEDOUT;
}

/* Returns 0 or a positive errno, reported and set in the job. */
static int connect_server(struct thread_data *td, struct nbd_handle **h)
{
	const struct nbd_options *o = td->eo;
	struct waiting w = { .td = td, .since_ns = clock_ns() };
	struct nbd_patience patience = { .go_on = go_on, .arg = &w };
	char why[256];
	int err = -nbd_server_connect(o->uri, o->structured_replies, &patience, h, why, sizeof(why));

	if (!err)
		return 0;
	if (*why)
		glue_fail(td, err, "cannot connect to %s: %s", o->uri, why);
	else if (err == ETIMEDOUT)
		glue_fail(td, err, "cannot connect to %s: no answer for %u s (stuck_timeout); it may be busy with other clients",
			  o->uri, o->job.stuck_timeout);
	else
		td_verror(td, err, "NBD connect");
	return err;
}

/* What the job wants and this server cannot do. */
static int check_abilities(struct thread_data *td, const struct nbd_limits *l)
{
	const struct nbd_options *o = td->eo;
	const struct thread_options *to = &td->o;
	const char *what = NULL;

	if (l->read_only && (td_write(td) || td_trim(td)))
		return glue_fail(td, EROFS, "the export is read-only");
	if (o->connections > 1 && !l->multi_conn)
		what = "several connections at a time, which connections= needs";
	else if ((o->fua || to->sync_io) && (td_write(td) || td_trim(td)) && !l->fua)
		what = o->fua ? "FUA, which fua= needs" : "FUA, which sync= needs";
	else if ((to->fsync_blocks || to->fdatasync_blocks || to->sync_file_range) && !l->flush)
		what = "flushes, which fsync=, fdatasync= and sync_file_range= need";
	else if (td_trim(td) && o->trim_as == NBD_TRIM_AS_TRIM && !l->trim)
		what = "trims, which rw=trim needs";
	else if (td_trim(td) && o->trim_as == NBD_TRIM_AS_ZEROES && !l->zeroes)
		what = "writing zeroes, which trim_as=write_zeroes needs";
	if (what)
		return glue_fail(td, EOPNOTSUPP, "the server does not offer %s", what);
	if (td_trim(td) && job_trim_ranges(td) > 1)
		return glue_fail(td, EOPNOTSUPP, "num_range= is not supported, trim one range at a time");
	return 0;
}

/* Returns 0 or a positive errno, reported and set in the job. */
static int describe(struct thread_data *td, const struct nbd_limits *l)
{
	int ret = check_abilities(td, l);

	if (!ret)
		ret = glue_add_file(td, "nbd", l->capacity);
	return -ret;
}

static int check_options(struct thread_data *td)
{
	const struct nbd_options *o = td->eo;

	if (o->uri && *o->uri)
		return 0;
	return -glue_fail(td, EINVAL, "missing uri=, such as nbd://HOST:10809/ or nbd+unix:///?socket=PATH");
}

/**
 * nbd_job_setup - fio hook: ask the server for what fio wants to know, its size above all
 * @td: the job
 *
 * Runs in the parent, on a connection that is gone before the job has its own. With
 * create_serialize=0 it runs in the job, after init(), which has asked.
 *
 * Return: 0, or 1 with the error reported.
 */
int nbd_job_setup(struct thread_data *td)
{
	struct nbd_job *j = td->io_ops_data;
	struct nbd_limits limits;
	struct nbd_handle *h;

	if (j)
		return describe(td, &j->limits) != 0;
	if (check_options(td) || connect_server(td, &h))
		return 1;
	nbd_server_limits(h, &limits);
	nbd_server_leave(h);
	return describe(td, &limits) != 0;
}

/* Returns 0 or a positive errno, reported and set in the job. */
static int add_connection(struct nbd_job *j)
{
	struct thread_data *td = j->job.td;
	const struct nbd_options *o = td->eo;
	const struct nbd_datapath *path = &nbd_direct;
	struct nbd_handle *h;
	int err;

	err = connect_server(td, &h);
	if (err)
		return err;
	if (!j->client.nr_conns)
		nbd_server_limits(h, &j->limits);
	if (o->datapath == NBD_BY_LIBNBD || j->limits.tls)
		path = &nbd_by_libnbd;
	err = -nbd_client_add(&j->client, h, path);
	if (err) {
		nbd_close(h);
		glue_fail(td, err, "cannot use the connection: %s", strerror(err));
	}
	return err;
}

static int connect_all(struct nbd_job *j)
{
	const struct nbd_options *o = j->job.td->eo;
	int err;

	do {
		err = add_connection(j);
		/* The server may have changed since setup(), or not been asked. */
		if (!err && j->client.nr_conns == 1)
			err = -check_abilities(j->job.td, &j->limits);
	} while (!err && j->client.nr_conns < o->connections);
	return err;
}

static void free_job(struct nbd_job *j)
{
	nbd_client_destroy(&j->client);
	job_free(&j->job);
}

/* One that sleeps between taking a reply and the next would have its requests sleep, too. */
static bool takes_replies_at_once(struct thread_data *td)
{
	if (td->o.thinktime || td->o.read_iolog_file)
		return false;
	for (enum fio_ddir ddir = DDIR_READ; ddir < DDIR_RWDIR_CNT; ddir++)
		if (option_check_rate(td, ddir))
			return false;
	return true;
}

static int init_client(struct nbd_job *j)
{
	struct thread_data *td = j->job.td;
	const struct nbd_options *o = td->eo;
	unsigned int nr_slots = td->o.iodepth > SLOTS_MIN ? td->o.iodepth : SLOTS_MIN;

	if (nbd_client_init(&j->client, nr_slots, o->connections))
		return -glue_fail(td, ENOMEM, "no memory for %u requests", nr_slots);
	j->client.trace = j->job.trace.ring;
	if (o->fua || td->o.sync_io)
		j->write_flags = NBD_CMD_FLAG_FUA;
	j->hold = takes_replies_at_once(td);
	return 0;
}

/**
 * nbd_job_init - fio hook: connect
 * @td: the job
 *
 * Runs in the job, process or thread, when fio has started it; it may take as long as
 * another job keeps the server busy.
 *
 * Return: 0, or a positive errno with the error reported.
 */
int nbd_job_init(struct thread_data *td)
{
	struct nbd_job *j;
	int err = check_options(td);

	if (err)
		return err;
	j = job_alloc(td, sizeof(*j), &nbd_job_ops);
	if (!j)
		return td->error;
	err = init_client(j);
	if (!err)
		err = connect_all(j);
	if (err) {
		free_job(j);
		return err;
	}
	j->job.peer = ((struct nbd_options *)td->eo)->uri;
	j->job.fault = j->client.fault;
	j->job.takes_flush = j->limits.flush;
	j->job.takes_trim = true;
	job_init_waiter(&j->job);
	td->io_ops_data = j;
	return 0;
}

/**
 * nbd_job_open_file - fio hook: look at the job once fio has completed it
 * @td: the job
 * @f: its file
 *
 * Return: 0, or 1 with the error reported.
 */
int nbd_job_open_file(struct thread_data *td, struct fio_file *f)
{
	struct nbd_job *j = td->io_ops_data;

	return glue_check_job(td, f, j->limits.capacity, j->limits.block_size) != 0;
}

/**
 * nbd_job_cleanup - fio hook: disconnect
 * @td: the job; one whose init() failed has nothing
 */
void nbd_job_cleanup(struct thread_data *td)
{
	struct nbd_job *j = td->io_ops_data;

	if (!j)
		return;
	job_save_stats(&j->job);
	td->io_ops_data = NULL;
	free_job(j);
}

/**
 * nbd_job_stats - write what a job's client has counted, for dp_stats=
 * @job: the job, at its end
 * @w: an open object
 */
void nbd_job_stats(struct job *job, struct json *w)
{
	const struct nbd_job *j = (struct nbd_job *)job;
	const struct nbd_client *c = &j->client;

	json_str(w, "datapath", c->conn[0].path->name);
	json_u64(w, "connections", c->nr_conns);
	json_bool(w, "structured_replies", j->limits.structured);
	/* What libnbd does is not seen. */
	if (c->conn[0].path != &nbd_direct)
		return;
	json_u64(w, "sends", c->stats.sends);
	json_u64(w, "receives", c->stats.receives);
	json_hist(w, "batch", &c->stats.batch);
	json_hist(w, "replies", &c->stats.replies);
}
