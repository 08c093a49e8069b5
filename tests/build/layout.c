/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An fio engine that does no I/O and only looks whether the fio that loaded it
 * lays its structs out as the headers did that it was compiled with. What it
 * should find is in the job file of layout.sh.
 */

#include <stdio.h>
#include <string.h>

#include "fio.h"

extern const char fio_version_string[];

#define JOBS		2
#define DEPTH		16
#define BLOCK		12288
#define SIZE		(BLOCK * 64)

static struct thread_data *jobs[JOBS];
static struct io_u *queued[DEPTH];
static int nr_queued;

#define CHECK(td, cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "layout: %s: not so: %s\n",	\
				__func__, #cond);			\
			td_verror(td, EINVAL, "layout");		\
			return 1;					\
		}							\
	} while (0)

/* In the parent, one job after the other: the distance is the size of the struct */
static int layout_setup(struct thread_data *td)
{
	CHECK(td, !strcmp(fio_version_string, FIO_BUILT_FOR));
	CHECK(td, td->subjob_number < JOBS);
	CHECK(td, !strcmp(td->o.name, "layout"));
	CHECK(td, !strcmp(td->o.ioengine, "external"));
	CHECK(td, td->o.iodepth == DEPTH);
	CHECK(td, td->o.size == SIZE);
	CHECK(td, td->o.nr_files == 1 && td->files_index == 1);
	CHECK(td, !strcmp(td->files[0]->file_name, "layout-file"));
	CHECK(td, td->verror[0] == '\0');

	jobs[td->subjob_number] = td;
	if (jobs[0] && jobs[1]) {
		size_t apart = (char *)jobs[1] - (char *)jobs[0];

		if (apart != sizeof(*td)) {
			fprintf(stderr, "layout: struct thread_data has %zu bytes, compiled as %zu\n",
				apart, sizeof(*td));
			return 1;
		}
	}
	td->files[0]->real_file_size = SIZE;
	fio_file_set_size_known(td->files[0]);
	return 0;
}

/*
 * fio allocates an io_u with room to align it, and puts behind it how far it had
 * to be moved. Going back by so much gives malloc()'s block, and glibc's block
 * sizes are of a kind: both fit only where the size of the struct does.
 */
static int layout_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	unsigned int moved = *(unsigned int *)(io_u + 1), align = os_cache_line_size();
	size_t asked = sizeof(*io_u) + align + sizeof(moved) - 1;
	size_t block = ((size_t *)((char *)io_u - moved))[-1] & ~(size_t)7;

	CHECK(td, io_u->index < DEPTH);
	CHECK(td, moved < align);
	if (block != ((asked + sizeof(size_t) + 15) & ~(size_t)15)) {
		fprintf(stderr, "layout: struct io_u was compiled as %zu bytes, fio's is another\n",
			sizeof(*io_u));
		return 1;
	}
	return 0;
}

static enum fio_q_status layout_queue(struct thread_data *td, struct io_u *io_u)
{
	io_u->error = EINVAL;
	if (td->io_ops->queue == layout_queue && io_u->ddir == DDIR_READ &&
	    io_u->file == td->files[0] && io_u->xfer_buflen == BLOCK &&
	    io_u->buflen == BLOCK && io_u->xfer_buf == io_u->buf &&
	    io_u->offset % BLOCK == 0 && io_u->offset < SIZE && !io_u->end_io)
		io_u->error = 0;
	else
		fprintf(stderr, "layout: an io_u is not what the job asks for\n");
	queued[nr_queued++] = io_u;
	return FIO_Q_QUEUED;
}

static int layout_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			    const struct timespec *t)
{
	int events = nr_queued;

	(void)td, (void)min, (void)max, (void)t;
	nr_queued = 0;
	return events;
}

static struct io_u *layout_event(struct thread_data *td, int event)
{
	(void)td;
	return queued[event];
}

static int layout_open(struct thread_data *td, struct fio_file *f)
{
	(void)td, (void)f;
	return 0;
}

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name		= "layout",
	.version	= FIO_IOOPS_VERSION,
	.flags		= FIO_DISKLESSIO | FIO_NOEXTEND,
	.setup		= layout_setup,
	.io_u_init	= layout_io_u_init,
	.queue		= layout_queue,
	.getevents	= layout_getevents,
	.event		= layout_event,
	.open_file	= layout_open,
};
