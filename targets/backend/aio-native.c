/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <libaio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/container.h"
#include "base/cpu.h"
#include "targets/backend/aio.h"
#include "targets/options.h"

/*
 * --aio native: Linux' AIO for reads and writes, as QEMU's block/linux-aio.c does it: what
 * a turn of the iothread has brought is submitted with one call at its end; completions are
 * seen in the kernel's ring in memory and, by a thread that sleeps, through an eventfd.
 * The pool does the rest.
 */

#define DEPTH		1024u	/* requests in the kernel at once, as QEMU's */
#define RING_MAGIC	0xa10a10a1u

/* The start of what a context's handle points to, with the layout of the kernel's fs/aio.c */
struct ring {
	unsigned int id;
	unsigned int nr;
	_Atomic unsigned int head;
	_Atomic unsigned int tail;
	unsigned int magic;
	unsigned int compat_features;
	unsigned int incompat_features;
	unsigned int header_length;
	struct io_event events[];
};

/**
 * struct native - a channel's AIO context
 * @source: its completions
 * @submit: submission at the end of a turn
 * @c: the channel
 * @ctx: handle
 * @ring: its completion ring
 * @waiting: requests that no iocb has been made for
 * @in_flight: iocbs in the kernel
 * @nr_batch: iocbs to submit
 * @nr_spare: iocbs to use
 */
struct native {
	struct event_source source;
	struct deferred submit;
	struct channel *c;
	io_context_t ctx;
	struct ring *ring;
	struct aio_queue waiting;
	unsigned int in_flight;
	unsigned int nr_batch;
	unsigned int nr_spare;
	struct iocb *batch[DEPTH];
	struct iocb *spare[DEPTH];
	struct iocb iocb[DEPTH];
};

static struct iocb *prepare(struct native *n, struct blk_request *r)
{
	struct iocb *io = n->spare[--n->nr_spare];
	int fd = r->backend->fd;

	if (r->kind == REQ_READ && r->nr_iov == 1)
		io_prep_pread(io, fd, r->iov->iov_base, r->iov->iov_len, r->offset);
	else if (r->kind == REQ_READ)
		io_prep_preadv(io, fd, r->iov, r->nr_iov, r->offset);
	else if (r->nr_iov == 1)
		io_prep_pwrite(io, fd, r->iov->iov_base, r->iov->iov_len, r->offset);
	else
		io_prep_pwritev(io, fd, r->iov, r->nr_iov, r->offset);
	if (r->flags & BLK_FUA)
		io->aio_rw_flags = RWF_DSYNC;
	io->data = r;
	io_set_eventfd(io, n->source.fd);
	return io;
}

/* As many of those that wait as there are iocbs for; what AIO cannot do goes to the pool. */
static void fill_batch(struct native *n)
{
	struct blk_request *r;

	while ((r = aio_queue_first(&n->waiting))) {
		bool plain = aio_plain_rw(r);

		if (plain && !n->nr_spare)
			return;
		aio_queue_drop_first(&n->waiting);
		if (plain)
			n->batch[n->nr_batch++] = prepare(n, r);
		else
			aio_pool_submit(n->c, r);
	}
}

static void drop_from_batch(struct native *n, unsigned int nr)
{
	n->nr_batch -= nr;
	memmove(n->batch, n->batch + nr, n->nr_batch * sizeof(n->batch[0]));
}

/* The kernel refuses the first of the batch. */
static void refused(struct native *n, int error)
{
	struct iocb *io = n->batch[0];
	struct blk_request *r = io->data;

	drop_from_batch(n, 1);
	n->spare[n->nr_spare++] = io;
	channel_finish(n->c, r, error);
}

static bool is_stuck(const struct native *n)
{
	return n->nr_batch && !n->in_flight;
}

/*
 * Without room in the kernel the batch stays until something has completed; when nothing is
 * in flight, is_stuck() has it tried again in the next turn.
 */
static void submit_batch(struct deferred *d)
{
	struct native *n = container_of(d, struct native, submit);

	fill_batch(n);
	while (n->nr_batch) {
		int ret = io_submit(n->ctx, n->nr_batch, n->batch);

		if (ret == -EAGAIN || !ret)
			break;
		if (ret == -EINTR)
			continue;
		if (ret < 0) {
			refused(n, ret);
		} else {
			n->in_flight += ret;
			drop_from_batch(n, ret);
		}
	}
	if (is_stuck(n))
		event_source_rearm(&n->source);
}

/* An event is in the ring. */
static bool has_completed(const struct native *n)
{
	/* pairs with the kernel's smp_wmb() between an event and the tail behind it */
	return atomic_load_explicit(&n->ring->tail, memory_order_acquire) !=
	       atomic_load_explicit(&n->ring->head, memory_order_relaxed);
}

static bool native_poll(struct event_source *s, uint64_t now)
{
	struct native *n = container_of(s, struct native, source);

	(void)now;
	return has_completed(n) || unlikely(is_stuck(n));
}

/* The eventfd always gets its signal: it is enough to look once more. */
static bool native_arm(struct event_source *s)
{
	return native_poll(s, 0);
}

static void native_disarm(struct event_source *s)
{
	(void)s;
}

static void completed(struct native *n, const struct io_event *event)
{
	struct blk_request *r = event->data;
	long result = event->res;

	n->in_flight--;
	n->spare[n->nr_spare++] = event->obj;
	if (likely(result == (long)r->len))
		channel_finish(n->c, r, 0);
	else if (result < 0 && result != -EAGAIN && result != -EINTR)
		channel_finish(n->c, r, result);
	else
		/* Less than all: doing it again from the start finds out why. */
		aio_pool_submit(n->c, r);
}

static void native_dispatch(struct event_source *s)
{
	struct native *n = container_of(s, struct native, source);
	struct ring *ring = n->ring;
	unsigned int head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	while (has_completed(n)) {
		struct io_event event = ring->events[head];

		head = head + 1 < ring->nr ? head + 1 : 0;
		/* The kernel may use the slot again as soon as it sees this: not before it was read. */
		atomic_store_explicit(&ring->head, head, memory_order_release);
		completed(n, &event);
	}
	if (n->nr_batch || n->waiting.head)
		iothread_defer(n->c->it, &n->submit);
}

static const struct event_source_ops source_ops = {
	.poll = native_poll,
	.arm = native_arm,
	.disarm = native_disarm,
	.dispatch = native_dispatch,
};

static void submit(struct channel *c, struct blk_request *r)
{
	struct native *n = c->aio_state;

	aio_queue_add(&n->waiting, r);
	iothread_defer(c->it, &n->submit);
}

static int set_up_context(struct native *n)
{
	int ret = io_setup(DEPTH, &n->ctx);

	if (ret)
		return ret;
	n->ring = (struct ring *)n->ctx;
	if (n->ring->magic == RING_MAGIC && !n->ring->incompat_features &&
	    n->ring->header_length == sizeof(struct ring))
		return 0;
	io_destroy(n->ctx);
	return -EOPNOTSUPP;
}

static void native_free(struct native *n)
{
	if (n->source.fd >= 0)
		close(n->source.fd);
	if (n->ctx)
		io_destroy(n->ctx);
	free(n);
}

static int native_start(struct channel *c, struct native *n)
{
	int ret;

	n->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->source.fd < 0)
		return -errno;
	ret = set_up_context(n);
	return ret ? ret : iothread_add_source(c->it, &n->source);
}

static int native_open(struct channel *c)
{
	struct native *n = calloc(1, sizeof(*n));
	int ret = -ENOMEM;

	if (n) {
		n->source = (struct event_source) { .ops = &source_ops, .fd = -1 };
		n->submit.fn = submit_batch;
		n->c = c;
		while (n->nr_spare < DEPTH) {
			n->spare[n->nr_spare] = &n->iocb[n->nr_spare];
			n->nr_spare++;
		}
		ret = native_start(c, n);
	}
	if (ret) {
		options_error(NULL, "aio", "native is not available here: %s%s", strerror(-ret),
			      ret == -EAGAIN ? " (see /proc/sys/fs/aio-max-nr)" : "");
		if (n)
			native_free(n);
		return ret;
	}
	c->aio_state = n;
	return 0;
}

static void native_close(struct channel *c)
{
	struct native *n = c->aio_state;

	iothread_remove_source(c->it, &n->source);
	native_free(n);
}

const struct aio_ops native_aio = {
	.name = "native",
	.open = native_open,
	.close = native_close,
	.submit = submit,
};
