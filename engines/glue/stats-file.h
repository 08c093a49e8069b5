/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_STATS_FILE_H
#define ENGINES_GLUE_STATS_FILE_H

#include "base/json.h"
#include "engines/glue/fio-compat.h"

int glue_file_name(const struct thread_data *td, const char *prefix, const char *suffix, char *path,
		   size_t len);
int glue_save_stats(struct thread_data *td, const char *prefix,
		    void (*write)(struct json *w, void *arg), void *arg);

#endif
