/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * per-thread: each worker has an event of its own, and the one that went to sleep last, whose
 * caches are warmest, is woken. Tried for QEMU and not taken, as it peaked highest but
 * oscillated: message id 89f3a9d3-c6e3-7538-3c61-118249f4a8da@redhat.com ("a QemuEvent
 * per thread"; the patch was never posted, so which thread it woke is not known).
 *
 * Wait:   the queue's lock while a worker puts itself on the list of idle ones; the sleep
 *         on its event is under no lock.
 * Signal: the worker is chosen with the queue's lock held, its event set after the lock
 *         is released. When no one is idle nothing is touched.
 */
#include "targets/pool/wakeup.h"

/* States of a worker's event; it is QemuEvent with other words. */
enum {
	EVENT_CLEAR,
	EVENT_SET,
	EVENT_SLEEPING,
};

static void set_event(struct pool_worker *w)
{
	/* No order is needed: the list is only read with the lock held. */
	if (atomic_exchange_explicit(&w->event, EVENT_SET, memory_order_relaxed) == EVENT_SLEEPING)
		futex_wake(&w->event, 1);
}

static void own_wake(struct work_queue *q)
{
	struct pool_worker *w = q->wake.idle_list;

	if (w)
		q->wake.idle_list = w->next_idle;
	pthread_mutex_unlock(&q->lock);
	if (w)
		set_event(w);
}

/* A wake-up that chose this worker has taken it off the list. */
static void leave_list(struct work_queue *q, struct pool_worker *w)
{
	for (struct pool_worker **at = &q->wake.idle_list; *at; at = &(*at)->next_idle) {
		if (*at == w) {
			*at = w->next_idle;
			return;
		}
	}
}

static bool sleep_on_event(struct pool_worker *w, uint64_t timeout_ns)
{
	struct timespec deadline = wakeup_deadline(timeout_ns);
	unsigned int state = EVENT_CLEAR;
	int ret = 0;

	if (!atomic_compare_exchange_strong_explicit(&w->event, &state, EVENT_SLEEPING,
						     memory_order_relaxed, memory_order_relaxed))
		return true;
	while (atomic_load_explicit(&w->event, memory_order_relaxed) != EVENT_SET &&
	       ret != -ETIMEDOUT)
		ret = futex_wait_until(&w->event, EVENT_SLEEPING, &deadline);
	wakeup_slept(w, ret != -ETIMEDOUT);
	return ret != -ETIMEDOUT;
}

static bool own_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns)
{
	bool woken;

	if (!wakeup_nothing_to_do(q))
		return true;
	atomic_store_explicit(&w->event, EVENT_CLEAR, memory_order_relaxed);
	w->next_idle = q->wake.idle_list;
	q->wake.idle_list = w;
	q->idle++;
	pthread_mutex_unlock(&q->lock);
	woken = sleep_on_event(w, timeout_ns);
	pthread_mutex_lock(&q->lock);
	q->idle--;
	leave_list(q, w);
	return woken;
}

static void own_wake_all(struct work_queue *q, unsigned int workers)
{
	(void)workers;
	for (; q->wake.idle_list; q->wake.idle_list = q->wake.idle_list->next_idle)
		set_event(q->wake.idle_list);
}

const struct wakeup_ops per_thread_wakeup = {
	.wake = own_wake,
	.wait = own_wait,
	.wake_all = own_wake_all,
};
