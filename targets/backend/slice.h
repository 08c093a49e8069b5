/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that would take long are carried out a slice at a time, so that others get their turn
 * in between: a client can ask for gigabytes in one request, even of memory that is small, when
 * its pieces name the same place again and again.
 */
#ifndef TARGETS_BACKEND_SLICE_H
#define TARGETS_BACKEND_SLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct blk_request;

/*
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

void slice_first(struct blk_request *r, uint64_t bytes);
bool slice_next(struct blk_request *r, uint64_t bytes);
void slice_stop(struct blk_request *r);
void slice_end(struct blk_request *r);

#endif
