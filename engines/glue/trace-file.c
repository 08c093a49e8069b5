/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"
#include "engines/glue/stats-file.h"
#include "engines/glue/trace-file.h"

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
