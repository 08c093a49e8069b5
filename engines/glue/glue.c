/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"

extern const char fio_version_string[];

/* Each would be the whole device: what one writes, the other finds. */
#define SEVERAL_FILES \
	"%u files (filename=, nrfiles=, or in an iolog), but a job has one device: give each part a job of its own with offset= and size="

/*
 * fio checks only the version of struct ioengine_ops, while the structs behind it move
 * within one version, so an engine is good for exactly the fio it was built for. This runs
 * before fio looks at the engine; it then finds a wrong version and refuses the engine.
 */
__attribute__((constructor)) static void check_fio(void)
{
	char why[256];

	if (strcmp(fio_version_string, FIO_BUILT_FOR))
		fprintf(stderr, "%s: built for %s, but this is %s: rebuild fio-dataplane with `make`, with this fio first in PATH\n",
			ioengine.name, FIO_BUILT_FOR, fio_version_string);
	else if (glue_check_layout(why, sizeof(why)))
		fprintf(stderr, "%s: this %s was configured otherwise than the headers we were built with (%s): rebuild fio-dataplane with `make FIO_SRC=DIR`, DIR being the tree it was built in\n",
			ioengine.name, FIO_BUILT_FOR, why);
	else
		return;
	ioengine.version = 0;
}

static void set_error(struct thread_data *td, int err, const char *why)
{
	if (td->error)
		return;
	td->error = err;
	if (!td->first_error)
		snprintf(td->verror, sizeof(td->verror), "%.*s", (int)sizeof(td->verror) - 1, why);
	/* fio takes every EINVAL of an open_file() to say that there is no O_DIRECT. */
	if (err == EINVAL)
		td->o.odirect = 0;
}

/**
 * glue_set_error - set why a job ends, which has been reported before
 * @td: the job
 * @err: a positive errno
 * @why: what fio prints behind it, and puts into its results, in place of the errno's text
 *
 * The first reason stays.
 */
void glue_set_error(struct thread_data *td, int err, const char *why)
{
	set_error(td, err, why);
	if (td->parent)
		set_error(td->parent, err, why);
}

/**
 * glue_fail - report why a job ends
 * @td: the job
 * @err: a positive errno
 * @format: what was tried, on what, and why that failed
 *
 * Return: -@err.
 */
int glue_fail(struct thread_data *td, int err, const char *format, ...)
{
	char why[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	log_err("%s: %s\n", td->o.name, why);
	glue_set_error(td, err, why);
	return -err;
}

/**
 * glue_add_file - give a job the file that fio cannot do without
 * @td: the job, in setup()
 * @name: what to call it, unless the job has filename=
 * @size: bytes of the device
 *
 * Return: 0, or -EINVAL for an empty device or several files, reported.
 */
int glue_add_file(struct thread_data *td, const char *name, uint64_t size)
{
	struct fio_file *f;
	unsigned int i;

	if (!size)
		return glue_fail(td, EINVAL, "the device has size 0");
	if (td->files_index > 1)
		return glue_fail(td, EINVAL, SEVERAL_FILES, td->files_index);
	if (!td->files_index) {
		add_file(td, name, 0, 0);
		td->o.nr_files = td->o.nr_files ? : 1;
		td->o.open_files++;
	}
	for_each_file(td, f, i) {
		f->real_file_size = size;
		f->filetype = FIO_TYPE_BLOCK;
		fio_file_set_size_known(f);
	}
	/* Without a size fio goes to the end; with fill_device= it counts on ENOSPC to find it. */
	if (td->o.fill_device && td->o.size > size)
		td->o.size = 0;
	return 0;
}

/* Files that a read_iolog= names are only known once they are opened. */
static int check_only_file(struct thread_data *td, struct fio_file *f)
{
	struct fio_file *other;
	unsigned int i, opened = 1;

	FILE_SET_ENG_DATA(f, f);
	for_each_file(td, other, i)
		opened += other != f && FILE_ENG_DATA(other);
	return opened > 1 ? glue_fail(td, EINVAL, SEVERAL_FILES, opened) : 0;
}

static int check_alignment(struct thread_data *td, enum fio_ddir ddir, uint32_t block_size)
{
	const char *what;
	unsigned long long value;

	if (td->o.min_bs[ddir] % block_size) {
		what = "bs";
		value = td->o.min_bs[ddir];
	} else if (!td->o.bssplit_nr[ddir] && td->o.max_bs[ddir] % block_size) {
		/* fio rounds all sizes to multiples of the smallest, but not the end of bsrange=. */
		what = "bs";
		value = td->o.max_bs[ddir];
	} else if (td->o.ba[ddir] % block_size) {
		what = "blockalign";
		value = td->o.ba[ddir];
	} else if (td->o.bs_unaligned) {
		return glue_fail(td, EINVAL, "bs_unaligned cannot work on a device of %u-byte blocks",
				 block_size);
	} else {
		return 0;
	}
	return glue_fail(td, EINVAL, "%s=%llu is no multiple of the device's block size, %u bytes",
			 what, value, block_size);
}

/**
 * glue_check_job - find out at the start what could only fail later
 * @td: the job, in open_file(), when fio has worked out where it is going to do I/O
 * @f: its file
 * @capacity: bytes of the device
 * @block_size: its smallest unit of I/O in bytes
 *
 * Return: 0, or -EINVAL, reported.
 */
int glue_check_job(struct thread_data *td, struct fio_file *f, uint64_t capacity,
		   uint32_t block_size)
{
	uint64_t end;
	int ret = check_only_file(td, f);

	if (ret)
		return ret;
	for (enum fio_ddir ddir = DDIR_READ; ddir < DDIR_RWDIR_CNT; ddir++) {
		bool used = ddir == DDIR_READ ? td_read(td) :
			    ddir == DDIR_WRITE ? td_write(td) : td_trim(td);

		/* With bs_is_seq_rand= the sizes are not those of a direction. */
		if ((used || td->o.bs_is_seq_rand) && check_alignment(td, ddir, block_size))
			return -EINVAL;
	}
	if (f->file_offset % block_size)
		return glue_fail(td, EINVAL,
				 "offset %llu is no multiple of the device's block size, %u bytes",
				 (unsigned long long)f->file_offset, block_size);
	if (__builtin_add_overflow(f->file_offset, f->io_size, &end) || end > capacity)
		return glue_fail(td, EINVAL,
				 "offset %llu and size %llu go past the end of the device, %llu bytes",
				 (unsigned long long)f->file_offset, (unsigned long long)f->io_size,
				 (unsigned long long)capacity);
	return 0;
}
