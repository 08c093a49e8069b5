/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_POOL_WORKER_H
#define TARGETS_POOL_WORKER_H

#include <semaphore.h>
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

int worker_start(struct pool_worker *w);
void worker_want(struct pool *p, struct pool_worker *w);
void worker_spawn_deferred(struct deferred *d);
void workers_join(struct pool *p);

int completion_open(struct pool *p);
void completion_close(struct pool *p);
void completion_finish(struct pool *p, struct work_queue *q, struct pool_work *work);
void completion_expect_more(struct pool *p);

#endif
