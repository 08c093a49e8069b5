/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_VIRTIO_PLUG_H
#define ENGINES_VIRTIO_PLUG_H

#include "engines/driver/virtio-blk.h"
#include "engines/glue/job.h"

/**
 * struct plug - reads or writes of a batch that follow one another, held back to leave as one
 * @limit: most bytes of a merged request, 0 when nothing is merged
 * @segments: most requests in one
 * @ddir: what they are
 * @start: first byte on the device
 * @len: bytes
 * @n: how many they are, 0 for none
 * @iov: their buffers, in the order of the device
 * @first: the one that was queued first, which stands for all
 * @last: the one that was queued last
 * @base: the job's io_us
 * @next: which was queued after each, and went into the same request; NULL at the end of a chain
 *	and for every io_u outside of them
 * @merged: io_us that needed no request of their own
 *
 * As a block layer's plug does, a request is only ever compared with the last one.
 */
struct plug {
	uint64_t limit;
	unsigned int segments;
	enum fio_ddir ddir;
	uint64_t start;
	uint64_t len;
	unsigned int n;
	struct iovec iov[BLK_SEGMENTS_MAX];
	struct job_io *first;
	struct job_io *last;
	struct job_io *base;
	struct job_io **next;
	uint64_t merged;
};

int plug_init(struct plug *p, struct job *j, uint64_t limit, unsigned int segments);
void plug_destroy(struct plug *p);
bool plug_join(struct plug *p, struct job_io *io);
void plug_begin(struct plug *p, struct job_io *io);
void plug_issue(struct plug *p, struct blk_queue *q);

/**
 * plug_takes - whether an io_u may be held back at all
 * @p: the plug
 * @io_u: the io_u
 *
 * Return: whether plug_join() and plug_begin() are for it.
 */
static inline bool plug_takes(const struct plug *p, const struct io_u *io_u)
{
	return (io_u->ddir == DDIR_READ || io_u->ddir == DDIR_WRITE) && io_u->xfer_buflen <= p->limit;
}

/**
 * plug_take - walk the io_us of a request that is complete, and take their chain apart
 * @p: the plug
 * @io: one of them, linked to nothing afterwards: its next request may be one that is never held
 *
 * Return: the one that was queued after it, or NULL.
 */
static inline struct job_io *plug_take(struct plug *p, const struct job_io *io)
{
	struct job_io *next;

	if (!p->next)
		return NULL;
	next = p->next[io - p->base];
	p->next[io - p->base] = NULL;
	return next;
}

#endif
