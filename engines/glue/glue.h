/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_GLUE_H
#define ENGINES_GLUE_GLUE_H

#include "engines/glue/fio-compat.h"

/* The engine that the glue is linked into. */
extern struct ioengine_ops ioengine;

int glue_fail(struct thread_data *td, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int glue_check_layout(char *why, size_t len);
void glue_set_error(struct thread_data *td, int err, const char *why);

int glue_add_file(struct thread_data *td, const char *name, uint64_t size);
unsigned int glue_count_jobs(bool (*counts)(const struct thread_data *td, const void *arg),
			     const void *arg);
int glue_check_job(struct thread_data *td, struct fio_file *f, uint64_t capacity,
		   uint32_t block_size);

#endif
