/* SPDX-License-Identifier: GPL-2.0-only */
/* How a request is cut into slices and put together again: see SLICE_BYTES */
#include "targets/backend/backend.h"

static bool has_memory(const struct blk_request *r)
{
	return r->kind == REQ_READ || r->kind == REQ_WRITE;
}

/* The first pieces left, as many as make @bytes; the outer ones are changed for so long. */
static void take_pieces(struct blk_request *r, uint64_t bytes)
{
	struct slice *s = &r->slice;
	uint64_t sum = 0;
	unsigned int n = 0;

	s->first_was = s->left_iov[0];
	s->left_iov[0].iov_base = (char *)s->left_iov[0].iov_base + s->skip;
	s->left_iov[0].iov_len -= s->skip;
	while (sum < bytes && n < s->left_nr)
		sum += s->left_iov[n++].iov_len;
	s->last_was = s->left_iov[n - 1];
	s->cut = sum > bytes ? sum - bytes : 0;
	s->left_iov[n - 1].iov_len -= s->cut;
	r->iov = s->left_iov;
	r->nr_iov = n;
}

/* Undo that, and go on behind them. */
static void give_pieces_back(struct blk_request *r)
{
	struct slice *s = &r->slice;
	unsigned int n = r->nr_iov, done = s->cut ? n - 1 : n;
	size_t of_last = s->left_iov[n - 1].iov_len;

	if (n > 1)
		s->left_iov[n - 1] = s->last_was;
	s->left_iov[0] = s->first_was;
	s->skip = !s->cut ? 0 : n > 1 ? of_last : s->skip + of_last;
	s->left_iov += done;
	s->left_nr -= done;
}

static void take(struct blk_request *r, uint64_t bytes)
{
	struct slice *s = &r->slice;

	r->len = bytes < s->left ? bytes : s->left;
	s->left -= r->len;
	if (has_memory(r))
		take_pieces(r, r->len);
}

/**
 * slice_first - make a request its first slice
 * @r: the request, with more than @bytes; put together again by slice_end()
 * @bytes: the most that a slice has
 */
void slice_first(struct blk_request *r, uint64_t bytes)
{
	r->slice = (struct slice) {
		.left = r->len,
		.whole = r->len,
		.iov = r->iov,
		.nr_iov = r->nr_iov,
		.left_iov = r->iov,
		.left_nr = r->nr_iov,
	};
	take(r, bytes);
}

/**
 * slice_next - make a request its next slice
 * @r: the request, whose slice is done
 * @bytes: the most that a slice has
 *
 * Return: false when there is none.
 */
bool slice_next(struct blk_request *r, uint64_t bytes)
{
	if (!r->slice.left)
		return false;
	r->offset += r->len;
	if (has_memory(r))
		give_pieces_back(r);
	take(r, bytes);
	return true;
}

/**
 * slice_end - put a request together again
 * @r: the request, in slices
 */
void slice_end(struct blk_request *r)
{
	struct slice *s = &r->slice;

	if (has_memory(r))
		give_pieces_back(r);
	r->offset -= s->whole - s->left - r->len;
	r->len = s->whole;
	r->iov = s->iov;
	r->nr_iov = s->nr_iov;
	s->left = 0;
	s->whole = 0;
}

/**
 * slice_stop - leave a request at the present slice
 * @r: the request, in slices or in one piece
 */
void slice_stop(struct blk_request *r)
{
	/* What it adds up to does not matter any more. */
	r->slice.left = 0;
}
