/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spin-park: a worker spins for a while, then sleeps as with futex. The window is that of
 * QEMU's iothreads by default (poll-max-ns 32768), but fixed. In no version of QEMU's pool.
 *
 * Wait:   no lock while spinning; the queue's lock to say that it is going to sleep, after
 *         a last look for work; no lock while it sleeps.
 * Signal: no lock; counted after the queue's lock is released, and a sleeping worker is
 *         woken when there is more work than workers that spin or have been woken, which is
 *         seen under it.
 */
#include <limits.h>
#include "base/cpu.h"
#include "targets/pool/wakeup.h"

#define SPIN_NS	32768

static void spin_park_wake(struct work_queue *q)
{
	unsigned int coming = q->idle - q->wake.events.asleep;
	bool chosen = q->nr > coming && events_choose(q);

	pthread_mutex_unlock(&q->lock);
	/* No order is needed: the list is only read with the lock held. */
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
	if (chosen)
		futex_wake(&q->wake.events.posted, 1);
}

static bool spin(const struct work_queue *q, unsigned int seen)
{
	uint64_t end = clock_ns() + SPIN_NS;

	do {
		if (atomic_load_explicit(&q->wake.events.posted, memory_order_relaxed) != seen)
			return true;
		cpu_relax();
	} while (clock_ns() < end);
	return false;
}

/* With the queue's lock held and nothing in it */
static bool park(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	unsigned int seen = atomic_load_explicit(&q->wake.events.posted, memory_order_relaxed);
	struct timespec deadline = wakeup_deadline(timeout_ns);
	bool woken;

	q->wake.events.asleep++;
	pthread_mutex_unlock(&q->lock);
	woken = futex_wait_until(&q->wake.events.posted, seen, &deadline) != -ETIMEDOUT;
	pthread_mutex_lock(&q->lock);
	events_returned(q);
	wakeup_slept(w, woken);
	return woken;
}

static bool spin_park_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	unsigned int seen;
	bool found;

	if (!wakeup_nothing_to_do(q))
		return true;
	seen = atomic_load_explicit(&q->wake.events.posted, memory_order_relaxed);
	q->idle++;
	pthread_mutex_unlock(&q->lock);
	found = spin(q, seen);
	pthread_mutex_lock(&q->lock);
	if (!found)
		found = !wakeup_nothing_to_do(q) || park(q, w, timeout_ns);
	q->idle--;
	return found;
}

static void spin_park_wake_all(struct work_queue *q, unsigned int workers)
{
	(void)workers;
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
	futex_wake(&q->wake.events.posted, INT_MAX);
}

const struct wakeup_ops spin_park_wakeup = {
	.wake = spin_park_wake,
	.wait = spin_park_wait,
	.wake_all = spin_park_wake_all,
};
