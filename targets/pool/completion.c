/* SPDX-License-Identifier: GPL-2.0-only */
/* How work gets back to the iothread: the done list, an event source (docs/wakeups.md) */
#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "targets/pool/worker.h"

static struct pool *source_to_pool(struct event_source *s)
{
	return (struct pool *)((char *)s - offsetof(struct pool, source));
}

static bool done_poll(struct event_source *s, uint64_t now)
{
	(void)now;
	/* What is found is read in done_dispatch(), which orders. */
	return atomic_load_explicit(&source_to_pool(s)->done->first, memory_order_relaxed);
}

/*
 * The iothread stores armed and then looks at the list; a worker puts on the list and then
 * looks at armed. With both orders sequentially consistent one of them sees the other.
 */
static bool done_arm(struct event_source *s)
{
	struct pool *p = source_to_pool(s);

	atomic_store_explicit(&p->done->armed, true, memory_order_seq_cst);
	return atomic_load_explicit(&p->done->first, memory_order_seq_cst);
}

static void done_disarm(struct event_source *s)
{
	/* A worker that does not see it in time notifies in vain. */
	atomic_store_explicit(&source_to_pool(s)->done->armed, false, memory_order_relaxed);
}

/* The list is last in, first out: turn it round. */
static struct pool_work *take_done(struct pool *p)
{
	/* pairs with the push in completion_finish() */
	struct pool_work *work = atomic_exchange_explicit(&p->done->first, NULL,
							  memory_order_acquire);
	struct pool_work *oldest = NULL;

	while (work) {
		struct pool_work *next = work->next;

		work->next = oldest;
		oldest = work;
		work = next;
	}
	return oldest;
}

static void done_dispatch(struct event_source *s)
{
	struct pool *p = source_to_pool(s);
	struct pool_work *work = take_done(p);

	while (work) {
		/* It may be submitted again from done(). */
		struct pool_work *next = work->next;

		if (p->config.queue == POOL_QUEUE_PER_THREAD)
			p->load[work->worker]--;
		work->done(work);
		work = next;
	}
}

static const struct event_source_ops done_ops = {
	.poll = done_poll,
	.arm = done_arm,
	.disarm = done_disarm,
	.dispatch = done_dispatch,
	.put_off = true,
};

static void notify(struct pool *p)
{
	uint64_t one = 1;

	while (write(p->source.fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Put work on the done list; true when it was empty. */
static bool push(struct pool *p, struct pool_work *work)
{
	struct pool_work *first = atomic_load_explicit(&p->done->first, memory_order_relaxed);

	do {
		work->next = first;
		/* pairs with take_done(), and with done_arm() */
	} while (!atomic_compare_exchange_weak_explicit(&p->done->first, &first, work,
							memory_order_seq_cst,
							memory_order_relaxed));
	return !first;
}

static bool armed(struct pool *p)
{
	return atomic_load_explicit(&p->done->armed, memory_order_seq_cst);
}

/* Of all that see the iothread asleep, one. */
static bool disarm_first(struct pool *p)
{
	return armed(p) && atomic_exchange_explicit(&p->done->armed, false, memory_order_seq_cst);
}

/**
 * completion_finish - hand work back to the iothread
 * @p: the pool
 * @q: where the work came from, not locked; locked afterwards, as the worker goes on with it
 * @work: the work, no longer the caller's
 */
void completion_finish(struct pool *p, struct work_queue *q, struct pool_work *work)
{
	bool was_empty = push(p, work);

	switch (p->config.completion) {
	case POOL_COMPLETION_EVENTFD_LOCKED:
		pthread_mutex_lock(&q->lock);
		if (armed(p))
			notify(p);
		return;
	case POOL_COMPLETION_EVENTFD:
		if (armed(p))
			notify(p);
		break;
	case POOL_COMPLETION_COALESCED:
		if (was_empty)
			notify(p);
		break;
	case POOL_COMPLETION_POLL:
		if (disarm_first(p))
			notify(p);
		break;
	}
	pthread_mutex_lock(&q->lock);
}

/**
 * completion_expect_more - the iothread is awake and will look at the done list
 * @p: the pool; called in its iothread
 *
 * The loop disarms a source when it polls or has found work in it. A thread that was woken
 * by another source is awake just as well, as QEMU's notify_me tells the workers.
 */
void completion_expect_more(struct pool *p)
{
	if (p->source.armed) {
		event_source_rearm(&p->source);
		done_disarm(&p->source);
	}
}

/**
 * completion_open - let the iothread watch the done list
 * @p: the pool; called in its iothread
 *
 * Return: 0 or a negative errno.
 */
int completion_open(struct pool *p)
{
	int ret;

	p->source = (struct event_source) { .ops = &done_ops };
	p->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->source.fd < 0)
		return -errno;
	p->done = alloc_apart(1, sizeof(*p->done));
	ret = p->done ? iothread_add_source(p->it, &p->source) : -ENOMEM;
	if (ret) {
		free(p->done);
		close(p->source.fd);
	}
	return ret;
}

/**
 * completion_close - finish what is done, and undo completion_open()
 * @p: the pool, without workers; called in its iothread
 */
void completion_close(struct pool *p)
{
	done_dispatch(&p->source);
	iothread_remove_source(p->it, &p->source);
	close(p->source.fd);
	free(p->done);
}
