/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/json.h"
#include "base/version.h"
#include "engines/virtio/job.h"

static const char *const wait_names[] = {
	[WAIT_BLOCK] = "block",
	[WAIT_POLL] = "poll",
	[WAIT_ADAPTIVE] = "adaptive",
};

static void write_stats(struct json *w, struct virtio_job *j)
{
	const struct blk_stats *s = &j->queue.stats;
	const struct wait_stats *ws = &j->waiter.stats;

	json_open_object(w, NULL);
	json_str(w, "engine", j->td->io_ops->name);
	json_str(w, "version", FIO_DATAPLANE_VERSION);
	json_str(w, "job", j->td->o.name);
	json_u64(w, "queue", j->index);
	json_u64(w, "queue_size", j->dev->queue_size);
	json_str(w, "wait_mode", wait_names[j->waiter.mode]);
	json_open_object(w, "notifications");
	json_u64(w, "sent", s->kicks);
	json_u64(w, "suppressed", s->batches - s->kicks);
	json_u64(w, "received", ws->calls);
	json_close_object(w);
	json_u64(w, "polls", ws->polls);
	json_u64(w, "poll_ns", ws->poll_ns);
	json_u64(w, "sleeps", ws->sleeps);
	json_u64(w, "window_ns", j->waiter.window.ns);
	json_hist(w, "batch", &s->batch);
	if (j->dev->transport->stats) {
		json_open_object(w, "target");
		j->dev->transport->stats(j->dev, j->index, w);
		json_close_object(w);
	}
	json_close_object(w);
}

static FILE *open_stats(const char *prefix, const struct thread_data *td, char *path, size_t len)
{
	char *name = path + snprintf(path, len, "%s.", prefix);

	if ((size_t)snprintf(name, len - (name - path), "%s.%u.json", td->o.name,
			     td->thread_number) >= len - (name - path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	for (; *name; name++) {
		if (*name == '/')
			*name = '_';
	}
	return fopen(path, "we");
}

/**
 * virtio_job_save_stats - write what the job counted, if dp_stats= asks for it
 * @j: the job, at its end
 *
 * Return: 0 or a negative errno, reported.
 */
int virtio_job_save_stats(struct virtio_job *j)
{
	const struct virtio_options *o = j->td->eo;
	char path[PATH_MAX] = "";
	struct json w;
	FILE *f;
	int ret;

	if (!o->dp_stats)
		return 0;
	f = open_stats(o->dp_stats, j->td, path, sizeof(path) - 1);
	if (f) {
		json_init(&w, f);
		write_stats(&w, j);
		ret = json_finish(&w);
		if (fclose(f) && !ret)
			ret = -errno;
	} else {
		ret = -errno;
	}
	if (ret)
		log_err("%s: dp_stats: cannot write %s: %s\n", j->td->o.name, path, strerror(-ret));
	return ret;
}
