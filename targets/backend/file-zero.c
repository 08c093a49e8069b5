/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "targets/backend/file.h"

#define ZERO_BYTES	65536u
#define ZERO_PIECES	16u

/* Aligned for O_DIRECT */
static char zeroes[ZERO_BYTES] __attribute__((aligned(4096)));

/* It cannot be done in this way; EINVAL is what block devices say of less than a logical block. */
static bool lacks(int error)
{
	return error == -EOPNOTSUPP || error == -ENODEV || error == -ENOSYS || error == -EINVAL;
}

static int allocate(const struct backend *b, int mode, uint64_t offset, uint64_t len)
{
	int ret;

	do {
		ret = fallocate(b->fd, mode | FALLOC_FL_KEEP_SIZE, offset, len) ? -errno : 0;
	} while (ret == -EINTR);
	return ret;
}

/* A discard may do less than it is asked for: what is not a whole logical block stays. */
static int discard_blocks(const struct backend *b, uint64_t offset, uint64_t len)
{
	uint64_t first = (offset + b->align - 1) / b->align * b->align;
	uint64_t end = (offset + len) / b->align * b->align;
	uint64_t range[2] = { first, end - first };

	return first < end && ioctl(b->fd, BLKDISCARD, range) ? -errno : 0;
}

static int discard(const struct backend *b, uint64_t offset, uint64_t len)
{
	if (!len)
		return 0;
	if (b->is_block)
		return discard_blocks(b, offset, len);
	return allocate(b, FALLOC_FL_PUNCH_HOLE, offset, len);
}

static int made_durable(struct backend *b, const struct blk_request *r, int result)
{
	return !result && r->flags & BLK_FUA ? file_flush(b) : result;
}

/**
 * file_discard - give blocks back
 * @b: the backend
 * @r: the request
 *
 * Return: 0 or a negative errno, -EOPNOTSUPP when there is no way to.
 */
int file_discard(struct backend *b, const struct blk_request *r)
{
	return made_durable(b, r, discard(b, r->offset, r->len));
}

static int write_out(const struct backend *b, uint64_t offset, uint64_t len)
{
	struct iovec iov[ZERO_PIECES];

	for (unsigned int i = 0; i < ZERO_PIECES; i++)
		iov[i] = (struct iovec) { zeroes, ZERO_BYTES };
	while (len) {
		unsigned int nr = len / ZERO_BYTES < ZERO_PIECES ? len / ZERO_BYTES : ZERO_PIECES;
		ssize_t n = nr ? pwritev(b->fd, iov, nr, offset) : pwrite(b->fd, zeroes, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		offset += n;
		len -= n;
	}
	return 0;
}

/*
 * From the best way to the worst. A block device takes both modes too: for it
 * FALLOC_FL_PUNCH_HOLE is what its driver does quickly or not at all, and
 * FALLOC_FL_ZERO_RANGE is the ioctl BLKZEROOUT, in which the kernel itself may write the
 * zeroes out; see blkdev_fallocate() in its block/fops.c.
 */
static int zero_range(const struct backend *b, const struct blk_request *r)
{
	bool fast = r->flags & BLK_FAST;
	int ret = -EOPNOTSUPP;

	if (r->flags & BLK_UNMAP)
		ret = allocate(b, FALLOC_FL_PUNCH_HOLE, r->offset, r->len);
	if (lacks(ret) && !(fast && b->is_block))
		ret = allocate(b, FALLOC_FL_ZERO_RANGE, r->offset, r->len);
	if (!lacks(ret))
		return ret;
	return fast ? -EOPNOTSUPP : write_out(b, r->offset, r->len);
}

/**
 * file_write_zeroes - make blocks read as zero
 * @b: the backend
 * @r: the request
 *
 * Return: 0 or a negative errno, -EOPNOTSUPP when they would have to be written out and
 * BLK_FAST forbids it.
 */
int file_write_zeroes(struct backend *b, const struct blk_request *r)
{
	return made_durable(b, r, r->len ? zero_range(b, r) : 0);
}
