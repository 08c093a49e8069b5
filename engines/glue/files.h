/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_FILES_H
#define ENGINES_GLUE_FILES_H

#include "base/cpu.h"
#include "base/json.h"
#include "engines/glue/fio-compat.h"
#include "wire/trace.h"

int glue_file_name(const struct thread_data *td, const char *prefix, const char *suffix, char *path,
		   size_t len);
int glue_save_stats(struct thread_data *td, const char *prefix,
		    void (*write)(struct json *w, void *arg), void *arg);

/**
 * struct job_trace - a job's trace
 * @file: the file; others may write into it too
 * @ring: the job's own part, NULL when there is no trace, and then @file is nothing
 */
struct job_trace {
	struct trace file;
	struct trace_ring *ring;
};

int glue_trace_begin(struct thread_data *td, const char *prefix, struct job_trace *t);
void glue_trace_end(struct job_trace *t);

/**
 * glue_trace_return - getevents() returns
 * @r: the job's part of its trace, NULL without one
 * @n: with so many io_us
 */
static inline void glue_trace_return(struct trace_ring *r, unsigned int n)
{
	PROBE1(returned, IN_REG(n));
	if (unlikely(r) && n)
		trace_note(r, TRACE_RETURN, 0, 0, n);
}

#endif
