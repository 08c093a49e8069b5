/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "base/cpu.h"
#include "targets/backend/file.h"

#define BOUNCE_BYTES	(1u << 20)

/**
 * struct place - how far along a request's memory is
 * @iov: current piece
 * @nr: pieces left, it included
 * @done: bytes of it that are done
 */
struct place {
	const struct iovec *iov;
	unsigned int nr;
	size_t done;
};

/* To the next byte there is: past the end of pieces, and over those that are empty */
static void advance(struct place *p, size_t n)
{
	p->done += n;
	while (p->nr && p->done >= p->iov->iov_len) {
		p->done -= p->iov->iov_len;
		p->iov++;
		p->nr--;
	}
}

static ssize_t call(const struct backend *b, const struct blk_request *r, const struct iovec *iov,
		    unsigned int nr, uint64_t offset)
{
	ssize_t n;

	do {
		if (r->kind == REQ_READ)
			n = preadv2(b->fd, iov, nr, offset, 0);
		else
			n = pwritev2(b->fd, iov, nr, offset, r->flags & BLK_FUA ? RWF_DSYNC : 0);
	} while (unlikely(n < 0 && errno == EINTR));
	return n < 0 ? -errno : n;
}

/* From where the last call left off; the iovecs are not ours to change. */
static ssize_t call_at(const struct backend *b, const struct blk_request *r, const struct place *p,
		       uint64_t offset)
{
	struct iovec rest;

	if (likely(!p->done))
		return call(b, r, p->iov, p->nr < IOV_MAX ? p->nr : IOV_MAX, offset);
	rest.iov_base = (char *)p->iov->iov_base + p->done;
	rest.iov_len = p->iov->iov_len - p->done;
	return call(b, r, &rest, 1, offset);
}

/* @r's kind of I/O, between the file from @offset on and all of @iov */
static int transfer(const struct backend *b, const struct blk_request *r, const struct iovec *iov,
		    unsigned int nr, uint64_t offset)
{
	struct place p = { .iov = iov, .nr = nr };

	advance(&p, 0);
	while (p.nr) {
		ssize_t n = call_at(b, r, &p, offset);

		if (n < 0)
			return n;
		/* The range was inside the file, which somebody has made shorter since. */
		if (!n)
			return -EIO;
		offset += n;
		advance(&p, n);
	}
	return 0;
}

static void copy(struct place *p, char *mem, size_t len, bool to_mem)
{
	while (len) {
		char *piece = (char *)p->iov->iov_base + p->done;
		size_t n = p->iov->iov_len - p->done;

		if (n > len)
			n = len;
		if (to_mem)
			memcpy(mem, piece, n);
		else
			memcpy(piece, mem, n);
		mem += n;
		len -= n;
		advance(p, n);
	}
}

/* By way of memory that the file takes, @size bytes at a time */
static int bounce(const struct backend *b, const struct blk_request *r, char *mem, size_t size)
{
	struct place p = { .iov = r->iov, .nr = r->nr_iov };

	advance(&p, 0);
	for (uint64_t at = 0; at < r->len; at += size) {
		struct iovec iov = { mem, r->len - at < size ? r->len - at : size };
		int ret;

		if (r->kind == REQ_WRITE)
			copy(&p, mem, iov.iov_len, true);
		ret = transfer(b, r, &iov, 1, r->offset + at);
		if (ret)
			return ret;
		if (r->kind == REQ_READ)
			copy(&p, mem, iov.iov_len, false);
	}
	return 0;
}

static int bounced(const struct backend *b, const struct blk_request *r)
{
	size_t size = r->len < BOUNCE_BYTES ? r->len : BOUNCE_BYTES;
	void *mem;
	int ret;

	if (posix_memalign(&mem, b->mem_align < sizeof(mem) ? sizeof(mem) : b->mem_align, size))
		return -ENOMEM;
	ret = bounce(b, r, mem, size);
	free(mem);
	return ret;
}

/**
 * file_takes_memory - whether a read or write can use the request's own memory
 * @b: the backend
 * @r: the request
 *
 * Return: false when it is not aligned as O_DIRECT wants it.
 */
bool file_takes_memory(const struct backend *b, const struct blk_request *r)
{
	if (!b->config.direct)
		return true;
	for (unsigned int i = 0; i < r->nr_iov; i++) {
		if ((uintptr_t)r->iov[i].iov_base & (b->mem_align - 1) ||
		    r->iov[i].iov_len & (b->align - 1))
			return false;
	}
	return true;
}

/**
 * file_rw - read or write, all of it
 * @b: the backend
 * @r: the request
 *
 * Return: 0 or a negative errno; -EIO when the file ends before the range does.
 */
int file_rw(struct backend *b, struct blk_request *r)
{
	if (likely(file_takes_memory(b, r)))
		return transfer(b, r, r->iov, r->nr_iov, r->offset);
	return bounced(b, r);
}
