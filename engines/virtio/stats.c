/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/files.h"
#include "engines/virtio/job.h"

static void write_stats(struct json *w, void *arg)
{
	struct virtio_job *j = arg;
	const struct blk_stats *s = &j->queue.stats;
	const struct wait_stats *ws = &j->waiter.stats;

	json_u64(w, "queue", j->index);
	json_u64(w, "queue_size", j->dev->queue_size);
	json_str(w, "ring", j->queue.ring.notify.is_packed ? "packed" : "split");
	json_str(w, "wait_mode", wait_mode_name(j->waiter.mode));
	json_u64(w, "merged", j->plug.merged);
	json_open_object(w, "notifications");
	json_u64(w, "sent", s->kicks);
	json_u64(w, "suppressed", s->batches - s->kicks);
	json_u64(w, "received", ws->calls);
	json_close_object(w);
	json_u64(w, "polls", ws->polls);
	json_u64(w, "yields", j->waiter.crowd.yields);
	json_u64(w, "poll_ns", ws->poll_ns);
	json_u64(w, "sleeps", ws->sleeps);
	if (j->dev->link)
		json_u64(w, "reconnects", atomic_load(&j->dev->link->generation));
	json_u64(w, "window_ns", j->waiter.window.ns);
	json_hist(w, "batch", &s->batch);
	if (j->dev->transport->stats) {
		json_open_object(w, "target");
		j->dev->transport->stats(j->dev, j->index, w);
		json_close_object(w);
	}
}

/**
 * virtio_job_save_stats - write what the job counted, if dp_stats= asks for it
 * @j: the job, at its end
 *
 * Return: 0 or a negative errno, reported.
 */
int virtio_job_save_stats(struct virtio_job *j)
{
	const struct virtio_options *o = j->f.td->eo;

	return glue_save_stats(j->f.td, o->dp_stats, write_stats, j);
}
