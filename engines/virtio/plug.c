/* SPDX-License-Identifier: GPL-2.0-only */
#include "engines/virtio/plug.h"

/**
 * plug_init - make a plug
 * @p: filled in
 * @j: the job
 * @limit: most bytes of a merged request, 0 to merge nothing
 * @segments: most requests in one, at most BLK_SEGMENTS_MAX
 *
 * Return: 0 or -ENOMEM.
 */
int plug_init(struct plug *p, struct job *j, uint64_t limit, unsigned int segments)
{
	*p = (struct plug) { .limit = limit, .segments = segments, .base = j->io };
	if (!limit)
		return 0;
	p->next = calloc(j->td->o.iodepth, sizeof(*p->next));
	return p->next ? 0 : -ENOMEM;
}

/**
 * plug_destroy - give a plug up
 * @p: the plug
 */
void plug_destroy(struct plug *p)
{
	free(p->next);
}

static void hold(struct plug *p, struct job_io *io)
{
	io->issued = io->io_u->xfer_buflen;
	io->parts = 1;
	p->last = io;
	p->len += io->io_u->xfer_buflen;
	p->n++;
}

static struct iovec buffer(const struct job_io *io)
{
	return (struct iovec) { io->io_u->xfer_buf, io->io_u->xfer_buflen };
}

/**
 * plug_join - let an io_u go with those that are held back
 * @p: the plug
 * @io: the io_u, one that plug_takes()
 *
 * Return: whether it is next to them and there is room.
 */
bool plug_join(struct plug *p, struct job_io *io)
{
	const struct io_u *io_u = io->io_u;

	if (!p->n || p->n == p->segments || io_u->ddir != p->ddir ||
	    p->len + io_u->xfer_buflen > p->limit)
		return false;
	if (io_u->offset == p->start + p->len) {
		p->iov[p->n] = buffer(io);
	} else if (io_u->offset + io_u->xfer_buflen == p->start) {
		memmove(p->iov + 1, p->iov, p->n * sizeof(*p->iov));
		p->iov[0] = buffer(io);
		p->start = io_u->offset;
	} else {
		return false;
	}
	p->next[p->last - p->base] = io;
	hold(p, io);
	p->merged++;
	return true;
}

/**
 * plug_begin - hold an io_u back, and wait for others to join it
 * @p: the plug, empty
 * @io: the io_u, one that plug_takes()
 */
void plug_begin(struct plug *p, struct job_io *io)
{
	p->first = io;
	p->ddir = io->io_u->ddir;
	p->start = io->io_u->offset;
	p->iov[0] = buffer(io);
	hold(p, io);
}

/**
 * plug_issue - queue what is held back as one request
 * @p: the plug, empty or not; it is afterwards
 * @q: the queue, with a slot free if it is not
 */
void plug_issue(struct plug *p, struct blk_queue *q)
{
	bool write = p->ddir == DDIR_WRITE;

	if (!p->n)
		return;
	if (p->n == 1)
		blk_queue_rw(q, write, p->start, p->iov[0].iov_base, p->len, p->first);
	else
		blk_queue_rwv(q, write, p->start, p->iov, p->n, p->first);
	p->n = 0;
	p->len = 0;
}
