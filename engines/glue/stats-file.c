/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/version.h"
#include "engines/glue/stats-file.h"

static FILE *open_file(const char *prefix, const struct thread_data *td, char *path, size_t len)
{
	char *name = path + snprintf(path, len, "%s.", prefix);

	if ((size_t)(name - path) >= len ||
	    (size_t)snprintf(name, len - (name - path), "%s.%u.json", td->o.name,
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
	FILE *f;
	int ret;

	if (!prefix)
		return 0;
	f = open_file(prefix, td, path, sizeof(path) - 1);
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
	} else {
		ret = -errno;
	}
	if (ret)
		log_err("%s: dp_stats: cannot write %s: %s\n", td->o.name, path, strerror(-ret));
	return ret;
}
