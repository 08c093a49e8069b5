/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "targets/backend/file.h"

#define ALIGN_MAX	65536u

/* Linux 6.1 can be asked, by statx(2); -ENOSYS where kernel or file system does not say. */
static int ask(struct backend *b)
{
#ifdef STATX_DIOALIGN
	struct statx st;

	if (statx(b->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) ||
	    !(st.stx_mask & STATX_DIOALIGN))
		return -ENOSYS;
	if (!st.stx_dio_offset_align || !st.stx_dio_mem_align)
		return -EOPNOTSUPP;
	b->align = st.stx_dio_offset_align;
	b->mem_align = st.stx_dio_mem_align;
	return 0;
#else
	(void)b;
	return -ENOSYS;
#endif
}

/* Errors other than EINVAL are not about alignment. */
static bool can_read(const struct backend *b, char *mem, unsigned int len)
{
	return pread(b->fd, mem, len, 0) >= 0 || errno != EINVAL;
}

/* The smallest units with which the start of the file can be read; none leaves align 0. */
static void try_out(struct backend *b, char *mem)
{
	unsigned int align = 1, mem_align = 1;

	while (align <= ALIGN_MAX && !can_read(b, mem, align))
		align = align == 1 ? 512 : 2 * align;
	b->align = align <= ALIGN_MAX ? align : 0;
	while (b->align && mem_align < ALIGN_MAX && !can_read(b, mem + mem_align, b->align))
		mem_align *= 2;
	b->mem_align = mem_align;
}

static int probe(struct backend *b)
{
	void *mem;

	if (posix_memalign(&mem, ALIGN_MAX, 2 * ALIGN_MAX))
		return -ENOMEM;
	try_out(b, mem);
	free(mem);
	return b->align ? 0 : -EINVAL;
}

static int logical_block_size(struct backend *b)
{
	int size;

	if (ioctl(b->fd, BLKSSZGET, &size))
		return -errno;
	b->align = size;
	return 0;
}

/**
 * file_find_align - find out what units the file wants
 * @b: the backend; its align and mem_align are filled in
 *
 * Only O_DIRECT makes demands on reads and writes, but a block device's discards are by
 * logical block in any case. Where the kernel does not tell (statx(2), STATX_DIOALIGN),
 * reads are tried, as QEMU's block/file-posix.c does.
 *
 * Return: 0 or a negative errno.
 */
int file_find_align(struct backend *b)
{
	int ret;

	b->align = 1;
	b->mem_align = 1;
	if (!b->config.direct)
		return b->is_block ? logical_block_size(b) : 0;
	ret = ask(b);
	return ret == -ENOSYS ? probe(b) : ret;
}
