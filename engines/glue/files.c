/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/version.h"
#include "engines/glue/glue.h"
#include "engines/glue/job.h"

/* The files that a job leaves: statistics and a trace. */

/* PREFIX.JOBNAME.N.SUFFIX; returns 0 or -ENAMETOOLONG. */
static int file_name(const struct thread_data *td, const char *prefix, const char *suffix, char *path,
		     size_t len)
{
	char *name = path + snprintf(path, len, "%s.", prefix);

	if ((size_t)(name - path) >= len ||
	    (size_t)snprintf(name, len - (name - path), "%s.%u.%s", td->o.name, td->thread_number,
			     suffix) >= len - (name - path))
		return -ENAMETOOLONG;
	for (; *name; name++) {
		if (*name == '/')
			*name = '_';
	}
	return 0;
}

static void write_wait_stats(struct json *w, const struct waiter *wt)
{
	json_str(w, "wait_mode", wait_mode_name(wt->mode));
	json_u64(w, "polls", wt->stats.polls);
	json_u64(w, "poll_ns", wt->stats.poll_ns);
	json_u64(w, "yields", wt->crowd.yields);
	json_u64(w, "sleeps", wt->stats.sleeps);
	json_u64(w, "window_ns", wt->window.ns);
}

static int write_stats(struct job *j, const char *path)
{
	FILE *f = fopen(path, "we");
	struct json w;
	int ret;

	if (!f)
		return -errno;
	json_init(&w, f);
	json_open_object(&w, NULL);
	json_str(&w, "engine", j->td->io_ops->name);
	json_str(&w, "version", FIO_DATAPLANE_VERSION);
	json_str(&w, "job", j->td->o.name);
	write_wait_stats(&w, &j->waiter);
	j->ops->stats(j, &w);
	json_close_object(&w);
	ret = json_finish(&w);
	if (fclose(f) && !ret)
		ret = -errno;
	return ret;
}

/**
 * job_save_stats - write what a job counted to PREFIX.JOBNAME.N.json, if dp_stats=PREFIX asks for it
 * @j: the job, at its end
 *
 * Return: 0 or a negative errno, reported.
 */
int job_save_stats(struct job *j)
{
	const char *prefix = job_options(j)->dp_stats;
	char path[PATH_MAX] = "";
	int ret;

	if (!prefix)
		return 0;
	ret = file_name(j->td, prefix, "json", path, sizeof(path));
	if (!ret)
		ret = write_stats(j, path);
	if (ret)
		log_err("%s: dp_stats: cannot write %s: %s\n", j->td->o.name, path, strerror(-ret));
	return ret;
}

/**
 * job_trace_begin - begin to write down what happens to a job's requests, if dp_trace=PREFIX asks for it
 * @j: the job, in init()
 *
 * The file is PREFIX.JOBNAME.N.trace.
 *
 * Return: 0 or a negative errno, reported.
 */
int job_trace_begin(struct job *j)
{
	const char *prefix = job_options(j)->dp_trace;
	char path[PATH_MAX] = "";
	int ret;

	if (!prefix)
		return 0;
	ret = file_name(j->td, prefix, "trace", path, sizeof(path));
	if (!ret)
		ret = trace_open(&j->trace.file, path, j->td->io_ops->name);
	if (!ret) {
		ret = trace_thread(&j->trace.file, j->td->o.name, TRACE_JOB, TRACE_RECORDS,
				   &j->trace.ring);
		if (ret)
			trace_close(&j->trace.file);
	}
	if (ret)
		glue_fail(j->td, -ret, "dp_trace: cannot write %s: %s", path,
			  ret == -EINVAL ? "not a regular file" : strerror(-ret));
	return ret;
}
