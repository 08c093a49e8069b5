/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/files.h"
#include "engines/nbd/job.h"

static void write_stats(struct json *w, void *arg)
{
	const struct nbd_job *j = arg;
	const struct nbd_client *c = &j->client;

	json_str(w, "datapath", c->conn[0].path->name);
	json_u64(w, "connections", c->nr_conns);
	json_bool(w, "structured_replies", j->limits.structured);
	json_str(w, "wait_mode", wait_mode_name(c->mode));
	/* What libnbd does is not seen. */
	if (c->conn[0].path == &nbd_direct) {
		json_u64(w, "sends", c->stats.sends);
		json_u64(w, "receives", c->stats.receives);
		json_hist(w, "batch", &c->stats.batch);
		json_hist(w, "replies", &c->stats.replies);
	}
	json_u64(w, "polls", c->stats.wait.polls);
	json_u64(w, "poll_ns", c->stats.wait.poll_ns);
	json_u64(w, "yields", c->crowd.yields);
	json_u64(w, "sleeps", c->stats.wait.sleeps);
	json_u64(w, "window_ns", c->window.ns);
}

/**
 * nbd_job_save_stats - write what the job counted, if dp_stats= asks for it
 * @j: the job, at its end
 *
 * Return: 0 or a negative errno, reported.
 */
int nbd_job_save_stats(struct nbd_job *j)
{
	const struct nbd_options *o = j->f.td->eo;

	return glue_save_stats(j->f.td, o->dp_stats, write_stats, j);
}
