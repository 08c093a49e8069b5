/* SPDX-License-Identifier: GPL-2.0-only */
/* What the ways to the backend's I/O share */
#ifndef TARGETS_BACKEND_AIO_H
#define TARGETS_BACKEND_AIO_H

#include <limits.h>
#include "base/container.h"
#include "targets/backend/channel.h"

/**
 * struct aio_queue - requests that wait for their turn, first in, first out
 * @head: first one's work, whose next is the second's
 * @tail: last one's
 */
struct aio_queue {
	struct pool_work *head;
	struct pool_work *tail;
};

static inline struct blk_request *aio_request(struct pool_work *w)
{
	return container_of(w, struct blk_request, work);
}

static inline void aio_queue_add(struct aio_queue *q, struct blk_request *r)
{
	r->work.next = NULL;
	if (q->head)
		q->tail->next = &r->work;
	else
		q->head = &r->work;
	q->tail = &r->work;
}

/* The first one, left where it is; NULL for none */
static inline struct blk_request *aio_queue_first(const struct aio_queue *q)
{
	return q->head ? aio_request(q->head) : NULL;
}

static inline void aio_queue_drop_first(struct aio_queue *q)
{
	q->head = q->head->next;
}

/* Whether the kernel can carry out a read or write just as it is */
static inline bool aio_plain_rw(const struct blk_request *r)
{
	return (r->kind == REQ_READ || r->kind == REQ_WRITE) && r->nr_iov <= IOV_MAX &&
	       file_takes_memory(r->backend, r);
}

void aio_pool_submit(struct channel *c, struct blk_request *r);

#endif
