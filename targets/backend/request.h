/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_BACKEND_REQUEST_H
#define TARGETS_BACKEND_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "targets/iothread/deadline.h"
#include "targets/pool/pool.h"

struct backend;
struct channel;

enum request_kind {
	REQ_READ,
	REQ_WRITE,
	REQ_FLUSH,
	REQ_DISCARD,
	REQ_WRITE_ZEROES,
	REQ_GET_ID,
	REQ_CACHE,		/* NBD: read ahead */
	REQ_BLOCK_STATUS,	/* NBD: where are holes */
	REQ_UNSUPPORTED,
	REQ_KINDS
};

/* flags of struct blk_request */
#define BLK_FUA		(1u << 0)	/* write, discard, write zeroes: durable once it is done */
#define BLK_UNMAP	(1u << 1)	/* write zeroes: the blocks may be given back */
#define BLK_FAST	(1u << 2)	/* write zeroes: -EOPNOTSUPP rather than writing them out */

/* flags of struct blk_extent, with NBD's values of base:allocation */
#define BLK_EXTENT_HOLE	(1u << 0)
#define BLK_EXTENT_ZERO	(1u << 1)

/**
 * struct blk_extent - a piece of the device that is allocated in one way
 * @len: bytes
 * @flags: BLK_EXTENT_*
 */
struct blk_extent {
	uint64_t len;
	uint32_t flags;
};

/*
 * Requests that would take long are carried out a slice at a time, so that others get their turn
 * in between: a client can ask for gigabytes in one request, even of memory that is small, when
 * its pieces name the same place again and again.
 *
 * Bytes that an iothread carries out for one client before it is others' turn: some 100 us of
 * copying. More than what a request without slices may have lies in no buffer that is gone when
 * channel_submit() returns.
 */
#define SLICE_BYTES	(UINT64_C(1) << 20)

/*
 * Where a worker or the kernel does it: to hand over so much takes an iothread no longer, and
 * it is as much as fio's largest requests mostly have, so that these stay in one piece.
 */
#define SLICE_AIO_BYTES	(UINT64_C(4) << 20)

/**
 * struct slice - how far a request is that is carried out in slices
 * @left: bytes behind the present slice; 0 for a request in one piece
 * @whole: bytes of it all
 * @iov, @nr_iov: the request's own
 * @left_iov: pieces left, of which the request has the first ones in the present slice
 * @left_nr: how many they are
 * @skip: bytes of the first of them that belong to the slice before
 * @cut: bytes of the present slice's last piece that belong to the next one
 * @first_was, @last_was: the present slice's first and last piece, as they were
 * @next: behind it in its channel's list
 * @waits: it is in that list
 */
struct slice {
	uint64_t left;
	uint64_t whole;
	struct iovec *iov;
	unsigned int nr_iov;
	struct iovec *left_iov;
	unsigned int left_nr;
	size_t skip;
	size_t cut;
	struct iovec first_was;
	struct iovec last_was;
	struct blk_request *next;
	bool waits;
};

/**
 * struct blk_request - a request on its way through an iothread's channel
 * @backend: the disk
 * @kind: what to do
 * @flags: BLK_*
 * @result: set when it is done: 0 or a negative errno
 * @nr_iov: pieces of @iov
 * @iov: memory to read into or write from; the submitter keeps it until the request is done
 * @offset: first byte; the range lies inside the device, as the submitter has checked
 * @len: bytes
 * @extent: REQ_BLOCK_STATUS: where to describe the range
 * @nr_extent: REQ_BLOCK_STATUS: room in @extent, and afterwards how many were filled in
 * @done: called in the channel's iothread, unless channel_submit() said that it is done
 * @carry: instead of aio_ops.submit, for a read or write whose memory its submitter alone can reach;
 *	NULL for others
 *
 * The submitter owns the memory and fills in the above. The rest belongs to the channel
 * and to the code that carries the request out.
 */
struct blk_request {
	struct backend *backend;
	enum request_kind kind;
	unsigned int flags;
	int result;
	unsigned int nr_iov;
	struct iovec *iov;
	uint64_t offset;
	uint64_t len;
	struct blk_extent *extent;
	unsigned int nr_extent;
	void (*done)(struct blk_request *r);
	void (*carry)(struct blk_request *r);

	struct channel *channel;
	struct deadline deadline;
	bool delayed;
	uint64_t taken_ns;
	struct pool_work work;
	struct slice slice;
};

void slice_first(struct blk_request *r, uint64_t bytes);
bool slice_next(struct blk_request *r, uint64_t bytes);
void slice_stop(struct blk_request *r);
void slice_end(struct blk_request *r);

#endif
