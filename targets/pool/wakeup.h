/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_POOL_WAKEUP_H
#define TARGETS_POOL_WAKEUP_H

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "targets/pool/worker.h"

/**
 * struct wakeup_ops - a way of telling workers that there is work
 * @name: what --wakeup calls it
 * @init: make the wake part of a zeroed queue; 0 or a negative errno; may be NULL
 * @destroy: undo init; may be NULL
 * @wake: wake a worker for the work that was just put on the queue. Called in the iothread
 *	with the queue's lock held, and releases it: before or after, that is the question
 * @wait: wait until there may be work, @timeout_ns at the most. Called in a worker with the
 *	queue's lock held, and returns with it held; false when time ran out
 * @wake_all: wake all of @workers, as the queue's stop has been set; its lock is held
 *
 * A worker counts in the queue's idle for as long as it waits, which is what keeps the pool
 * from growing.
 */
struct wakeup_ops {
	const char *name;
	int (*init)(struct work_queue *q);
	void (*destroy)(struct work_queue *q);
	void (*wake)(struct work_queue *q);
	bool (*wait)(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns);
	void (*wake_all)(struct work_queue *q, unsigned int workers);
};

extern const struct wakeup_ops sem_wakeup;
extern const struct wakeup_ops cond_counter_wakeup;
extern const struct wakeup_ops cond_locked_wakeup;
extern const struct wakeup_ops cond_unlocked_wakeup;
extern const struct wakeup_ops futex_wakeup;
extern const struct wakeup_ops per_thread_wakeup;
extern const struct wakeup_ops eventfd_wakeup;
extern const struct wakeup_ops spin_wakeup;
extern const struct wakeup_ops spin_park_wakeup;

/* All of them, NULL at the end, and their names in the same order */
extern const struct wakeup_ops *const wakeup_list[];
extern const char *const wakeup_names[];

int wakeup_cond_new(pthread_cond_t *c);
int wakeup_cond_init(struct work_queue *q);
void wakeup_cond_destroy(struct work_queue *q);
bool wakeup_cond_wait(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns);
void wakeup_cond_wake_all(struct work_queue *q, unsigned int workers);

/**
 * wakeup_nothing_to_do - whether a worker may go to sleep
 * @q: its queue, locked
 *
 * Return: true when there is neither work nor an order to end.
 */
static inline bool wakeup_nothing_to_do(const struct work_queue *q)
{
	return !q->first && !q->stop;
}

/**
 * wakeup_deadline - the moment a wait is over
 * @timeout_ns: from now
 *
 * Return: that moment on CLOCK_MONOTONIC.
 */
static inline struct timespec wakeup_deadline(uint64_t timeout_ns)
{
	return ns_timespec(clock_ns() + timeout_ns);
}

/**
 * wakeup_slept - count a sleep
 * @w: who slept
 * @woken: it was not the timeout that ended it
 */
static inline void wakeup_slept(struct pool_worker *w, bool woken)
{
	counter_add(&w->sleeps, 1);
	if (woken)
		counter_add(&w->wakeups, 1);
}

/**
 * events_choose - take one of those who sleep on the queue's counter for woken
 * @q: the queue, locked
 *
 * One that has been woken needs it no more, though it may take long to come.
 *
 * Return: false when all are.
 */
static inline bool events_choose(struct work_queue *q)
{
	if (!q->wake.events.asleep)
		return false;
	q->wake.events.asleep--;
	q->wake.events.woken++;
	return true;
}

/**
 * events_returned - a worker is back from its sleep on the queue's counter
 * @q: the queue, locked
 *
 * It need not be the one that was woken: whoever comes first takes that on, as it looks at
 * the queue as well as any.
 */
static inline void events_returned(struct work_queue *q)
{
	if (q->wake.events.woken)
		q->wake.events.woken--;
	else
		q->wake.events.asleep--;
}

/**
 * futex_wait_until - sleep for as long as a word has a value
 * @word: the word
 * @value: sleep while it is this
 * @deadline: on CLOCK_MONOTONIC, at most until then
 *
 * Return: 0, -EAGAIN when it had another value, -ETIMEDOUT.
 */
static inline int futex_wait_until(atomic_uint *word, unsigned int value,
				   const struct timespec *deadline)
{
	if (!syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, deadline,
		     NULL, FUTEX_BITSET_MATCH_ANY))
		return 0;
	return -errno;
}

/**
 * futex_wake - wake those who sleep on a word
 * @word: the word
 * @n: how many at the most
 */
static inline void futex_wake(atomic_uint *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, NULL, NULL, 0);
}

#endif
