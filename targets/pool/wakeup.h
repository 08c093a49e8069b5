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
#include "base/alloc.h"
#include "base/counter.h"
#include "targets/pool/pool.h"

/**
 * struct work_queue - where work waits for one worker or for all
 * @lock: the pool lock of QEMU's; covers all up to @idle, and of @wake what the strategy says
 * @first: work, oldest first
 * @last: where the next is appended
 * @nr: work in the list
 * @idle: workers that wait for work, QEMU's idle_threads
 * @stop: workers are to end once there is no work
 * @closed: a worker's own queue, which no worker serves; changed with @lock held, peeked
 *	at without
 * @wake: the wake-up strategy's; a line of its own, as workers may spin on it
 */
struct work_queue {
	pthread_mutex_t lock;
	struct pool_work *first;
	struct pool_work **last;
	unsigned int nr;
	unsigned int idle;
	bool stop;
	atomic_bool closed;

	union {
		sem_t sem;
		pthread_cond_t cond;
		struct {
			pthread_mutex_t lock;
			pthread_cond_t cond;
			unsigned int count;
		} counter;
		struct {
			atomic_uint posted;
			/* with the queue's lock held: workers that sleep, and that are woken */
			unsigned int asleep;
			unsigned int woken;
		} events;
		struct pool_worker *idle_list;
		int fd;
	} wake __attribute__((aligned(CACHE_LINE)));
} __attribute__((aligned(THREAD_ALIGN)));

enum worker_state {
	WORKER_NONE,
	WORKER_WANTED,
	WORKER_RUNNING,
};

/**
 * struct pool_worker - a place for a thread in a pool
 * @pool: the pool
 * @queue: where its work waits
 * @name: of its threads
 * @index: place in the pool
 * @state: covered by the pool's lock, as is what follows up to @event
 * @joinable: @thread has been created and not joined; it may have ended
 * @thread: the last one in this place
 * @next_idle: strategy per-thread: list of idle workers
 * @event: strategy per-thread: its own event
 * @trace: where its threads write what they do, NULL without a trace
 * @tid: of the last thread; 0 until it has begun
 * @starts: threads that this place has had
 * @requests: pieces of work done
 * @sleeps: waits that went to the kernel
 * @wakeups: of those, how many did not end because time ran out
 * @user_ns: CPU time and switches of the threads that have ended
 */
struct pool_worker {
	struct pool *pool;
	struct work_queue *queue;
	char name[16];
	unsigned int index;
	enum worker_state state;
	bool joinable;
	pthread_t thread;

	struct pool_worker *next_idle;
	atomic_uint event;
	struct trace_ring *trace;

	counter_t tid;
	counter_t starts;
	counter_t requests;
	counter_t sleeps;
	counter_t wakeups;
	counter_t user_ns;
	counter_t system_ns;
	counter_t voluntary;
	counter_t involuntary;
} __attribute__((aligned(THREAD_ALIGN)));

/**
 * struct done_list - work on its way back to the iothread
 * @first: last in, first out; workers push, the iothread takes all
 * @armed: the iothread sleeps or is about to
 */
struct done_list {
	struct pool_work *_Atomic first;
	atomic_bool armed;
} __attribute__((aligned(THREAD_ALIGN)));

/**
 * queue_put - append work
 * @q: the queue, locked
 * @work: the work
 */
static inline void queue_put(struct work_queue *q, struct pool_work *work)
{
	work->next = NULL;
	*q->last = work;
	q->last = &work->next;
	q->nr++;
}

/**
 * queue_take - take the oldest work
 * @q: the queue, locked
 *
 * Return: the work, or NULL.
 */
static inline struct pool_work *queue_take(struct work_queue *q)
{
	struct pool_work *work = q->first;

	if (work) {
		q->first = work->next;
		if (!q->first)
			q->last = &q->first;
		q->nr--;
	}
	return work;
}

/**
 * struct wakeup_ops - a way of telling workers that there is work
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
	int (*init)(struct work_queue *q);
	void (*destroy)(struct work_queue *q);
	void (*wake)(struct work_queue *q);
	bool (*wait)(struct work_queue *q, struct pool_worker *w, uint64_t timeout_ns);
	void (*wake_all)(struct work_queue *q, unsigned int workers);
};

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
 * @w: the worker that slept
 * @woken: it was not the timeout that ended it
 */
static inline void wakeup_slept(struct pool_worker *w, bool woken)
{
	counter_add(&w->sleeps, 1);
	if (woken)
		counter_add(&w->wakeups, 1);
}

/**
 * events_choose - take one of the workers that sleep on the queue's counter as woken
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
 * It need not be the one that was woken: the first to come back counts as that one, as it looks at
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
 * futex_wake - wake threads that sleep on a word
 * @word: the word
 * @n: how many at the most
 */
static inline void futex_wake(atomic_uint *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, NULL, NULL, 0);
}

/* What pool.c and worker.c share */
int worker_start(struct pool_worker *w);
void worker_want(struct pool *p, struct pool_worker *w);
void worker_spawn_deferred(struct deferred *d);
void workers_join(struct pool *p);

int completion_open(struct pool *p);
void completion_close(struct pool *p);
void completion_finish(struct pool *p, struct work_queue *q, struct pool_work *work);
void completion_expect_more(struct pool *p);

#endif
