/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_IOTHREAD_IOTHREAD_H
#define TARGETS_IOTHREAD_IOTHREAD_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/counter.h"
#include "targets/iothread/poll-policy.h"
#include "targets/stats.h"

struct event_source;

/**
 * struct event_source_ops - what the loop asks of a source of work
 * @poll: look for work, in memory only; @now is the loop's clock in ns, 0 when the
 *	policy has no use for one
 * @arm: turn notifications on, as the thread is about to sleep; true when work came
 *	in between, so that it must not
 * @disarm: turn notifications off, as the thread is awake and looks itself
 * @woken: its fd ended a sleep; may be NULL
 * @dispatch: do the work that is there; finding none is fine
 */
struct event_source_ops {
	bool (*poll)(struct event_source *s, uint64_t now);
	bool (*arm)(struct event_source *s);
	void (*disarm)(struct event_source *s);
	void (*woken)(struct event_source *s);
	void (*dispatch)(struct event_source *s);
};

/**
 * struct event_source - something an iothread serves: a virtqueue, the delayed requests
 * @ops: its operations
 * @fd: what wakes a sleeping thread; watched edge-triggered and never read, which saves
 *	a system call a wake-up
 * @events: what epoll said of the fd, for @ops->woken
 * @armed: notifications are on
 * @ready: found to have work in this turn of the loop
 */
struct event_source {
	const struct event_source_ops *ops;
	int fd;
	uint32_t events;
	bool armed;
	bool ready;
};

/**
 * struct deferred - work put off to the end of a turn, so that it is done once for all that
 *	happened in it
 * @fn: what to do, in the iothread
 * @next: list of those asked for
 * @queued: is on it
 */
struct deferred {
	void (*fn)(struct deferred *d);
	struct deferred *next;
	bool queued;
};

#define IOTHREAD_SOURCES	4096

/**
 * struct iothread - a thread that polls its sources for a while and then sleeps on them
 */
struct iothread {
	char name[16];
	unsigned int index;		/* of the target's iothreads */
	cpu_set_t cpus;			/* pinned to; empty for any */
	pthread_t thread;
	struct poll_policy policy;
	struct iothread_stats stats;

	struct event_source **source;
	unsigned int nr_sources;
	int epoll_fd;
	struct deferred *deferred;
	uint64_t wakeup_cost_ns;	/* CPU time to burn after a sleep */
	struct event_source wake;	/* another thread has a call for this one */

	atomic_bool call_pending;
	pthread_mutex_t call_lock;	/* one caller at a time */
	void (*call_fn)(void *arg);
	void *call_arg;
	sem_t call_done;
	bool stop;
};

int iothread_start(struct iothread *it, unsigned int index, const cpu_set_t *cpus,
		   const struct poll_policy *policy);
void iothread_stop(struct iothread *it);
void iothread_call(struct iothread *it, void (*fn)(void *arg), void *arg);
void iothread_sample_cpu(struct iothread *it);
int iothread_add_source(struct iothread *it, struct event_source *s);
void iothread_watch_source(struct iothread *it, struct event_source *s, uint32_t events);
void iothread_remove_source(struct iothread *it, struct event_source *s);
void iothread_defer(struct iothread *it, struct deferred *d);

#endif
