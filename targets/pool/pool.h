/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_POOL_POOL_H
#define TARGETS_POOL_POOL_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include "targets/iothread/iothread.h"
#include "wire/trace.h"

struct json;
struct done_list;
struct pool_worker;
struct wakeup_ops;
struct work_queue;

/* Most threads a pool can be asked for */
#define POOL_THREADS_MAX	1024

/* How long a worker does nothing before it ends, as in QEMU's util/thread-pool.c */
#define POOL_IDLE_NS		10000000000ull

/**
 * struct pool_work - something for a worker to do
 * @run: called in a worker
 * @done: called in the iothread afterwards
 * @next: the pool's, while it has the work
 * @worker: the pool's: whose queue it went to
 * @name: what it is called in a trace, where there is one
 */
struct pool_work {
	void (*run)(struct pool_work *w);
	void (*done)(struct pool_work *w);
	struct pool_work *next;
	unsigned int worker;
	struct trace_name name;
};

enum pool_queue {
	POOL_QUEUE_GLOBAL,
	POOL_QUEUE_PER_THREAD,
};

enum pool_completion {
	POOL_COMPLETION_EVENTFD_LOCKED,
	POOL_COMPLETION_EVENTFD,
	POOL_COMPLETION_COALESCED,
	POOL_COMPLETION_POLL,
};

/**
 * struct pool_config - the shape of a thread pool
 * @min_threads: started with the pool and kept
 * @max_threads: most that it grows to, 1 to POOL_THREADS_MAX
 * @wakeup: how a worker learns of work
 * @queue: where work waits
 * @completion: how the iothread learns that a worker is done
 * @idle_ns: how long a worker above @min_threads does nothing before it ends; 0 for POOL_IDLE_NS
 * @cpus: where workers run; empty for where the process's main thread may, for a worker
 *	that shared its iothread's only CPU would wait for the thread that waits for it
 * @trace: to write down when workers begin and end, or NULL
 */
struct pool_config {
	unsigned int min_threads;
	unsigned int max_threads;
	const struct wakeup_ops *wakeup;
	enum pool_queue queue;
	enum pool_completion completion;
	uint64_t idle_ns;
	cpu_set_t cpus;
	struct trace *trace;
};

/**
 * struct pool - an iothread's thread pool
 * @it: the iothread: work is submitted and completed in it
 * @config: as given, with defaults filled in
 * @source: the done list, watched by the iothread
 * @done: work that workers have done
 * @queue: where work waits: one, or one for each worker
 * @nr_queues: how many
 * @worker: config.max_threads of them, running or not
 * @load: work given to each worker's own queue and not back yet; the iothread's
 * @started: workers that the iothread believes to run, for their own queues
 * @turn: whose turn it is when all are busy
 * @spawn: starts the first of the threads asked for at the end of the iothread's turn
 * @lock: threads coming and going: what follows, and each worker's state
 * @threads: running and asked for; changed with @lock held, read without
 * @wanted: asked for, of those
 * @pending: created, but yet to take their first step
 * @stopping: no more threads
 * @reported: that a thread could not be started has been said
 * @untraced: that one has no room in the trace has been said
 */
struct pool {
	struct iothread *it;
	struct pool_config config;
	struct event_source source;
	struct done_list *done;
	struct work_queue *queue;
	unsigned int nr_queues;
	struct pool_worker *worker;
	unsigned int *load;
	bool *started;
	unsigned int turn;
	struct deferred spawn;

	pthread_mutex_t lock;
	atomic_uint threads;
	unsigned int wanted;
	unsigned int pending;
	bool stopping;
	bool reported;
	bool untraced;
};

/*
 * The ways of waking workers: what --wakeup calls it, and its operations. One more is a file and a
 * line here (docs/wakeups.md).
 */
#define WAKEUPS(WAKEUP) \
	WAKEUP("sem", sem_wakeup) \
	WAKEUP("cond-counter", cond_counter_wakeup) \
	WAKEUP("cond-locked", cond_locked_wakeup) \
	WAKEUP("cond-unlocked", cond_unlocked_wakeup) \
	WAKEUP("futex", futex_wakeup) \
	WAKEUP("per-thread", per_thread_wakeup) \
	WAKEUP("eventfd", eventfd_wakeup) \
	WAKEUP("spin", spin_wakeup) \
	WAKEUP("spin-park", spin_park_wakeup)

#define DECLARE_WAKEUP(name, ops)	extern const struct wakeup_ops ops;
WAKEUPS(DECLARE_WAKEUP)
#undef DECLARE_WAKEUP

/* For --help: each with a comma behind it */
#define DESCRIBE_WAKEUP(name, ops)	name ", "

/* The same as lists in that order, NULL at the end */
extern const struct wakeup_ops *const wakeup_list[];
extern const char *const wakeup_names[];

int pool_start(struct pool *p, struct iothread *it, const struct pool_config *config);
void pool_stop(struct pool *p);
void pool_submit(struct pool *p, struct pool_work *w);
void pool_stats_json(struct json *w, struct pool *p);

#endif
