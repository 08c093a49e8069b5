/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spin: workers never sleep; each takes a whole CPU, idle or not. What a wake-up costs is
 * the difference to this. With more workers than CPUs it is the worst of all, as a worker
 * with nothing to do sits on the CPU that the others need.
 *
 * Wait:   no lock; spins on a counter of work posted, which has a cache line of its own.
 * Signal: no lock; counted after the queue's lock is released, so that workers that see it
 *         find the lock free.
 */
#include "base/cpu.h"
#include "targets/pool/wakeup.h"

/* Reading the clock at each pass would make the passes twice as long. */
#define PASSES	256

static void spin_wake(struct work_queue *q)
{
	pthread_mutex_unlock(&q->lock);
	/* No order is needed: the list is only read with the lock held. */
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
}

static bool spin(const struct work_queue *q, unsigned int seen, uint64_t timeout_ns)
{
	uint64_t end = clock_ns() + timeout_ns;

	do {
		for (unsigned int i = 0; i < PASSES; i++) {
			if (atomic_load_explicit(&q->wake.events.posted,
						 memory_order_relaxed) != seen)
				return true;
			cpu_relax();
		}
	} while (clock_ns() < end);
	return false;
}

static bool spin_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	unsigned int seen;
	bool found;

	(void)w;
	if (!wakeup_nothing_to_do(q))
		return true;
	seen = atomic_load_explicit(&q->wake.events.posted, memory_order_relaxed);
	q->idle++;
	pthread_mutex_unlock(&q->lock);
	found = spin(q, seen, timeout_ns);
	pthread_mutex_lock(&q->lock);
	q->idle--;
	return found;
}

static void spin_wake_all(struct work_queue *q, unsigned int workers)
{
	(void)workers;
	atomic_fetch_add_explicit(&q->wake.events.posted, 1, memory_order_relaxed);
}

const struct wakeup_ops spin_wakeup = {
	.wake = spin_wake,
	.wait = spin_wait,
	.wake_all = spin_wake_all,
};
