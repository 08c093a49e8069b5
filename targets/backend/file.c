/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "targets/backend/file.h"
#include "targets/options.h"

/* A disk in a regular file or on a block device. */

static int complain(const struct backend *b, const char *what, int error)
{
	options_error(NULL, "backend", "%s %s: %s", what, b->config.path, strerror(error));
	return -error;
}

/* Before it is opened, as opening a FIFO waits and opening a tape may move it. */
static int check_kind(struct backend *b)
{
	struct stat st;

	if (stat(b->config.path, &st))
		return complain(b, "cannot open", errno);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return options_error(NULL, "backend", "%s is neither a regular file nor a block device",
				     b->config.path);
	b->is_block = S_ISBLK(st.st_mode);
	return 0;
}

static int open_file(struct backend *b)
{
	int flags = O_CLOEXEC | (b->config.read_only ? O_RDONLY : O_RDWR);

	b->fd = open(b->config.path, flags | (b->config.direct ? O_DIRECT : 0));
	if (b->fd >= 0)
		return 0;
	if (errno == EINVAL && b->config.direct)
		return options_error(NULL, "direct", "the file system of %s has none", b->config.path);
	return complain(b, "cannot open", errno);
}

static int file_size(const struct backend *b, uint64_t *size)
{
	struct stat st;

	if (b->is_block)
		return ioctl(b->fd, BLKGETSIZE64, size) ? -errno : 0;
	if (fstat(b->fd, &st))
		return -errno;
	*size = st.st_size;
	return 0;
}

static int set_size(struct backend *b)
{
	const struct backend_config *config = &b->config;
	uint64_t has;
	int ret = file_size(b, &has);

	if (ret)
		return complain(b, "cannot find out the size of", -ret);
	if (config->size > has)
		return options_error(NULL, "size", "%s has %" PRIu64 " bytes, accepts no more",
				     config->path, has);
	if (config->size)
		return 0;
	if (!has || has % config->block_size)
		return options_error(NULL, "backend", "%s has %" PRIu64
				     " bytes, accepts a multiple of --block-size %" PRIu32,
				     config->path, has, config->block_size);
	b->size = has;
	return 0;
}

static int set_align(struct backend *b)
{
	int ret = file_find_align(b);

	if (ret)
		return complain(b, "cannot find an alignment for --direct on", -ret);
	if (b->config.direct && b->config.block_size % b->align)
		return options_error(NULL, "block-size",
				     "%s with --direct accepts %u or a multiple of it",
				     b->config.path, b->align);
	return 0;
}

static void file_close(struct backend *b)
{
	close(b->fd);
}

static int file_open(struct backend *b)
{
	int ret = check_kind(b);

	if (!ret)
		ret = open_file(b);
	if (ret)
		return ret;
	ret = set_size(b);
	if (!ret)
		ret = set_align(b);
	if (ret)
		file_close(b);
	return ret;
}

/* Read ahead; what goes around the page cache would not look there. */
static int file_cache(struct backend *b, uint64_t offset, uint64_t len)
{
	return b->config.direct ? 0 : -posix_fadvise(b->fd, offset, len, POSIX_FADV_WILLNEED);
}

/**
 * file_flush - make what was written durable
 * @b: the backend
 *
 * Return: 0 or fdatasync()'s negative errno; see file_flushed().
 */
int file_flush(struct backend *b)
{
	int ret;

	do {
		ret = fdatasync(b->fd) ? -errno : 0;
	} while (ret == -EINTR);
	return file_flushed(b, ret);
}

/**
 * file_flushed - what to answer to a flush
 * @b: the backend
 * @result: 0 or the negative errno of the flush itself
 *
 * Linux reports a failed write-back once, and takes the page for clean from then on though
 * it never reached the disk: a later flush that succeeds says nothing. So all flushes fail
 * once one has, as QEMU's do; else only one of several connections would learn of the loss.
 *
 * Return: @result, or how an earlier one failed.
 */
int file_flushed(struct backend *b, int result)
{
	int none = 0;

	/* relaxed: the number is all there is to know, it announces nothing */
	if (!result)
		return atomic_load_explicit(&b->flush_error, memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(&b->flush_error, &none, result,
						memory_order_relaxed, memory_order_relaxed);
	return result;
}

static int file_execute(struct backend *b, struct blk_request *r)
{
	switch (r->kind) {
	case REQ_READ:
	case REQ_WRITE:
		return file_rw(b, r);
	case REQ_FLUSH:
		return file_flush(b);
	case REQ_DISCARD:
		return file_discard(b, r);
	case REQ_WRITE_ZEROES:
		return file_write_zeroes(b, r);
	case REQ_CACHE:
		return file_cache(b, r->offset, r->len);
	case REQ_BLOCK_STATUS:
		return file_block_status(b, r);
	default:
		return -EOPNOTSUPP;
	}
}

const struct backend_ops file_backend = {
	.name = "file",
	.open = file_open,
	.close = file_close,
	.execute = file_execute,
};
