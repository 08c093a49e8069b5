/* SPDX-License-Identifier: GPL-2.0-only */
#include "targets/backend/backend.h"

/* Answers at once and touches no data, so that what is measured is the dataplane. */

static int null_open(struct backend *b)
{
	(void)b;
	return 0;
}

static void null_close(struct backend *b)
{
	(void)b;
}

static int null_rw(struct backend *b, const struct iovec *iov, unsigned int nr, uint64_t offset)
{
	(void)b;
	(void)iov;
	(void)nr;
	(void)offset;
	return 0;
}

static int null_flush(struct backend *b)
{
	(void)b;
	return 0;
}

static int null_discard(struct backend *b, uint64_t offset, uint64_t len)
{
	(void)b;
	(void)offset;
	(void)len;
	return 0;
}

static int null_write_zeroes(struct backend *b, uint64_t offset, uint64_t len, bool unmap)
{
	(void)unmap;
	return null_discard(b, offset, len);
}

const struct backend_ops null_backend = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.read = null_rw,
	.write = null_rw,
	.flush = null_flush,
	.discard = null_discard,
	.write_zeroes = null_write_zeroes,
};
