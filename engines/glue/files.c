/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/version.h"
#include "engines/glue/glue.h"
#include "engines/glue/files.h"

/**
 * glue_file_name - what a job's file is called: PREFIX.JOBNAME.N.SUFFIX
 * @td: the job
 * @prefix: what its engine was given
 * @suffix: what kind of file it is
 * @path: set to the name
 * @len: room for it
 *
 * Return: 0 or -ENAMETOOLONG.
 */
int glue_file_name(const struct thread_data *td, const char *prefix, const char *suffix, char *path,
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

/**
 * glue_save_stats - write what a job counted to PREFIX.JOBNAME.N.json
 * @td: the job, at its end
 * @prefix: of dp_stats=, NULL to write nothing
 * @write: adds the engine's members to an object that says which job this is
 * @arg: its second argument
 *
 * Return: 0 or a negative errno, reported.
 */
int glue_save_stats(struct thread_data *td, const char *prefix,
		    void (*write)(struct json *w, void *arg), void *arg)
{
	char path[PATH_MAX] = "";
	struct json w;
	FILE *f = NULL;
	int ret;

	if (!prefix)
		return 0;
	ret = glue_file_name(td, prefix, "json", path, sizeof(path) - 1);
	if (!ret) {
		f = fopen(path, "we");
		ret = f ? 0 : -errno;
	}
	if (f) {
		json_init(&w, f);
		json_open_object(&w, NULL);
		json_str(&w, "engine", td->io_ops->name);
		json_str(&w, "version", FIO_DATAPLANE_VERSION);
		json_str(&w, "job", td->o.name);
		write(&w, arg);
		json_close_object(&w);
		ret = json_finish(&w);
		if (fclose(f) && !ret)
			ret = -errno;
	}
	if (ret)
		log_err("%s: dp_stats: cannot write %s: %s\n", td->o.name, path, strerror(-ret));
	return ret;
}

/**
 * glue_trace_begin - begin to write down what happens to a job's requests
 * @td: the job, in init()
 * @prefix: of dp_trace=, NULL for no trace
 * @t: filled in; zeroed by the caller
 *
 * The file is PREFIX.JOBNAME.N.trace.
 *
 * Return: 0 or a negative errno, reported.
 */
int glue_trace_begin(struct thread_data *td, const char *prefix, struct job_trace *t)
{
	char path[PATH_MAX] = "";
	int ret;

	if (!prefix)
		return 0;
	ret = glue_file_name(td, prefix, "trace", path, sizeof(path));
	if (!ret)
		ret = trace_open(&t->file, path, td->io_ops->name);
	if (!ret) {
		ret = trace_thread(&t->file, td->o.name, TRACE_JOB, TRACE_RECORDS, &t->ring);
		if (ret)
			trace_close(&t->file);
	}
	if (ret)
		glue_fail(td, -ret, "dp_trace: cannot write %s: %s", path,
			  ret == -EINVAL ? "it is no file" : strerror(-ret));
	return ret;
}

/**
 * glue_trace_end - end a job's trace
 * @t: the trace, if there is one; nobody writes into it any more
 */
void glue_trace_end(struct job_trace *t)
{
	if (t->ring)
		trace_close(&t->file);
	t->ring = NULL;
}
