/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * futex: a bare counter of work posted, on which idle workers sleep. What is left of a
 * semaphore or a condition variable when the queue itself says whether there is work:
 * no token to take, no groups of waiters, and no system call while nobody sleeps. In no
 * version of QEMU; what sem and cond-unlocked come down to.
 *
 * Wait:   the queue's lock, until the counter has been read; the sleep itself is under no
 *         lock and does not happen when the counter has moved on.
 * Signal: no lock; counted and woken after the queue's lock is released. Whether anybody
 *         sleeps who has not been woken yet is seen under it.
 */
#include <limits.h>
#include "targets/pool/wakeup.h"

static void futex_wake_one(struct work_queue *q)
{
	bool chosen = events_choose(q);

	pthread_mutex_unlock(&q->lock);
	/* No order is needed: the list is only read with the lock held. */
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
	if (chosen)
		futex_wake(&q->wake.events.posted, 1);
}

static bool futex_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	struct timespec deadline;
	unsigned int seen;
	bool woken;

	if (!wakeup_nothing_to_do(q))
		return true;
	deadline = wakeup_deadline(timeout_ns);
	seen = atomic_load_explicit(&q->wake.events.posted, memory_order_relaxed);
	q->idle++;
	q->wake.events.asleep++;
	pthread_mutex_unlock(&q->lock);
	woken = futex_wait_until(&q->wake.events.posted, seen, &deadline) != -ETIMEDOUT;
	pthread_mutex_lock(&q->lock);
	q->idle--;
	events_returned(q);
	wakeup_slept(w, woken);
	return woken;
}

static void futex_wake_all(struct work_queue *q, unsigned int workers)
{
	(void)workers;
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
	futex_wake(&q->wake.events.posted, INT_MAX);
}

const struct wakeup_ops futex_wakeup = {
	.wake = futex_wake_one,
	.wait = futex_wait,
	.wake_all = futex_wake_all,
};
