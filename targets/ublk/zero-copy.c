/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * UBLK_F_AUTO_BUF_REG: the driver enters a request's memory, which is of whoever uses the device, into
 * the ring's table of buffers, as it completes the command, and takes it out as it gets the answer.
 * So the ring can read a file into it, or write it, and nobody copies; but nothing else can, no thread
 * of the pool and no other ring.
 */

#include <errno.h>
#include "base/container.h"
#include "base/cpu.h"
#include "targets/ublk/queue.h"

/**
 * ublk_zero_copy_prepare - make a ring's table of buffers, empty
 * @q: the queue, its ring open
 *
 * Return: 0 or a negative errno.
 */
int ublk_zero_copy_prepare(struct ublk_queue *q)
{
	return io_uring_register_buffers_sparse(&q->ring, q->depth);
}

/* What is left of it; addresses in such a buffer begin at 0. */
static void put_io(struct ublk_slot *s)
{
	struct ublk_queue *q = s->queue;
	struct blk_request *r = &s->r;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&q->ring);
	unsigned int tag = (unsigned int)(s - q->slot);
	void *at = (void *)(uintptr_t)s->moved;
	unsigned int len = (unsigned int)(r->len - s->moved);

	/* The ring has an entry for each tag. */
	if (unlikely(!sqe)) {
		channel_finish(q->it->channel, r, -EBUSY);
		return;
	}
	if (r->kind == REQ_READ)
		io_uring_prep_read_fixed(sqe, r->backend->fd, at, len, r->offset + s->moved, (int)tag);
	else
		io_uring_prep_write_fixed(sqe, r->backend->fd, at, len, r->offset + s->moved, (int)tag);
	if (r->flags & BLK_FUA)
		sqe->rw_flags = RWF_DSYNC;
	sqe->user_data = tag | UBLK_IS_IO;
	iothread_defer(q->it, &q->submit);
}

/**
 * ublk_zero_copy_carry - carry a read or write of a file out on the queue's own ring
 * @r: the request, a slot's
 */
void ublk_zero_copy_carry(struct blk_request *r)
{
	struct ublk_slot *s = container_of(r, struct ublk_slot, r);

	s->moved = 0;
	put_io(s);
}

/**
 * ublk_zero_copy_moved - the ring has done something of what ublk_zero_copy_carry() asked for
 * @s: the slot
 * @result: bytes, or a negative errno
 */
void ublk_zero_copy_moved(struct ublk_slot *s, int result)
{
	struct channel *c = s->queue->it->channel;

	if (result > 0)
		s->moved += (unsigned int)result;
	if (likely(s->moved >= s->r.len))
		channel_finish(c, &s->r, 0);
	else if (result > 0 || result == -EINTR || result == -EAGAIN)
		put_io(s);
	else
		/* The range was inside the file, which has been made shorter since. */
		channel_finish(c, &s->r, result ? result : -EIO);
}
