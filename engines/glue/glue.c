/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/glue/glue.h"

extern const char fio_version_string[];

/*
 * fio checks only the version of struct ioengine_ops, while the structs behind it move
 * within one version, so an engine is good for exactly the fio it was built for. This runs
 * before fio looks at the engine; it then finds a wrong version and refuses the engine.
 */
__attribute__((constructor)) static void check_fio(void)
{
	if (!strcmp(fio_version_string, FIO_BUILT_FOR))
		return;
	fprintf(stderr, "%s: built for %s, but this is %s: rebuild fio-dataplane with `make`, with this fio first in PATH\n",
		ioengine.name, FIO_BUILT_FOR, fio_version_string);
	ioengine.version = 0;
}

/**
 * glue_add_file - give a job the file that fio cannot do without
 * @td: the job, in setup()
 * @name: what to call it, unless the job has filename=
 * @size: bytes of the device
 *
 * Return: 0, or -EINVAL for an empty device, reported.
 */
int glue_add_file(struct thread_data *td, const char *name, uint64_t size)
{
	struct fio_file *f;
	unsigned int i;

	if (!size) {
		log_err("%s: the device has size 0\n", td->o.name);
		return -EINVAL;
	}
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
	return 0;
}

/**
 * glue_count_jobs - how many jobs of a kind can run at the same time
 * @counts: whether a job is of the kind
 * @arg: second argument of @counts
 *
 * A job with stonewall= waits for all before it. Jobs that only start later are counted
 * as if they overlapped, as nobody knows how long the others take.
 *
 * Return: the number, the highest of all waves.
 */
unsigned int glue_count_jobs(bool (*counts)(const struct thread_data *td, const void *arg),
			     const void *arg)
{
	struct thread_data *td;
	unsigned int i, wave = 0, most = 0;

	for_each_job(td, i) {
		if (td->o.stonewall)
			wave = 0;
		if (counts(td, arg) && ++wave > most)
			most = wave;
	}
	return most;
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
		log_err("%s: bs_unaligned cannot work on a device of %u-byte blocks\n", td->o.name,
			block_size);
		return -EINVAL;
	} else {
		return 0;
	}
	log_err("%s: %s=%llu is no multiple of the device's block size, %u bytes\n", td->o.name,
		what, value, block_size);
	return -EINVAL;
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

	for (enum fio_ddir ddir = DDIR_READ; ddir < DDIR_RWDIR_CNT; ddir++) {
		bool used = ddir == DDIR_READ ? td_read(td) :
			    ddir == DDIR_WRITE ? td_write(td) : td_trim(td);

		/* With bs_is_seq_rand= the sizes are not those of a direction. */
		if ((used || td->o.bs_is_seq_rand) && check_alignment(td, ddir, block_size))
			return -EINVAL;
	}
	if (f->file_offset % block_size) {
		log_err("%s: offset %llu is no multiple of the device's block size, %u bytes\n",
			td->o.name, (unsigned long long)f->file_offset, block_size);
		return -EINVAL;
	}
	if (__builtin_add_overflow(f->file_offset, f->io_size, &end) || end > capacity) {
		log_err("%s: offset %llu and size %llu go past the end of the device, %llu bytes\n",
			td->o.name, (unsigned long long)f->file_offset,
			(unsigned long long)f->io_size, (unsigned long long)capacity);
		return -EINVAL;
	}
	return 0;
}
