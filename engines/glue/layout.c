/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the loaded fio lays its structs out as the headers did that we were compiled with */
#include <stddef.h>
#include <sys/shm.h>

#include "engines/glue/glue.h"
#include "options.h"

/* Fields from all over the struct: what is added or left out moves those behind it. */
#define FIELD(name, member)	{ name, offsetof(struct thread_options, member) }
static const struct {
	const char *option;
	size_t offset;
} fields[] = {
	FIELD("ioengine", ioengine),
	FIELD("iodepth", iodepth),
	FIELD("size", size),
	FIELD("fill_device", fill_device),
	FIELD("verify", verify),
	FIELD("create_serialize", create_serialize),
	FIELD("numjobs", numjobs),
	FIELD("sync", sync_io),
	FIELD("rate_iops", rate_iops),
	FIELD("zonemode", zone_mode),
	FIELD("log_prio", log_prio),
};

/* fio tells its table of options where in the struct each one's value goes. */
static int check_options(char *why, size_t len)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct fio_option *o = find_option_c(fio_options, fields[i].option);

		if (o && o->off1 == fields[i].offset)
			continue;
		snprintf(why, len, "its %s= is at byte %u of struct thread_options, not %zu", fields[i].option,
			 o ? o->off1 : 0, fields[i].offset);
		return -EINVAL;
	}
	return 0;
}

/* fio keeps its jobs in shared memory of the size of so many, with two words behind them. */
static int check_jobs(char *why, size_t len)
{
#ifndef CONFIG_NO_SHM
	size_t wanted = JOBS_PER_SEG * sizeof(struct thread_data) + 2 * sizeof(unsigned int);
	struct shmid_ds segment;

	/* There is none yet when fio only explains an engine's options. */
	if (!nr_segments || shmctl(segments[0].shm_id, IPC_STAT, &segment))
		return 0;
	if (segment.shm_segsz != wanted) {
		snprintf(why, len, "%d jobs take %zu bytes in it, not %zu", JOBS_PER_SEG,
			 (size_t)segment.shm_segsz, wanted);
		return -EINVAL;
	}
#endif
	return 0;
}

/**
 * glue_check_layout - find out whether the loaded fio was configured as our headers were
 * @why: what is different
 * @len: its size in bytes
 *
 * Of struct thread_options it looks where the members are, of struct thread_data how large it
 * is. struct io_u is only ever allocated by fio, and what ./configure moves in it is at its end,
 * behind all that an engine uses.
 *
 * Return: 0, or -EINVAL with @why.
 */
int glue_check_layout(char *why, size_t len)
{
	return check_options(why, len) ? : check_jobs(why, len);
}
