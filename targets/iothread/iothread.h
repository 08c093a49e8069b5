/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_IOTHREAD_IOTHREAD_H
#define TARGETS_IOTHREAD_IOTHREAD_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/alloc.h"
#include "base/counter.h"
#include "base/crowd.h"
#include "base/hist.h"
#include "targets/iothread/guard.h"
#include "targets/iothread/poll-policy.h"

struct channel;
struct event_source;
struct json;

/**
 * struct event_source_ops - what the loop asks of a source of work
 * @poll: look for work, in memory only; @now is the loop's clock in ns, 0 when the
 *	policy has no use for one
 * @arm: turn notifications on, as nobody polls this source for a while; true when work
 *	came in between, so that the thread must not sleep
 * @disarm: turn notifications off, as the thread is awake and looks itself
 * @woken: its fd ended a sleep; may be NULL
 * @dispatch: do the work that is there; finding none is fine
 * @sample: bring figures up to date that are not counted as they arise; may be NULL
 * @no_poll_handler: a call, a worker's completion, a socket: what has no poll handler in QEMU's
 *	first patches, so that the fixed-1024 policy does not poll it
 */
struct event_source_ops {
	bool (*poll)(struct event_source *s, uint64_t now);
	bool (*arm)(struct event_source *s);
	void (*disarm)(struct event_source *s);
	void (*woken)(struct event_source *s);
	void (*dispatch)(struct event_source *s);
	void (*sample)(struct event_source *s);
	bool no_poll_handler;
};

/**
 * struct event_source - something an iothread serves: a virtqueue, the delayed requests
 * @ops: its operations
 * @fd: what wakes a sleeping thread; watched edge-triggered and never read, which saves
 *	a system call a wake-up
 * @events: what epoll said of the fd, for @ops->woken
 * @armed: notifications are on
 * @ready: found to have work in this turn of the loop
 * @it: the iothread that serves it, or NULL
 * @index: place in @it->source
 * @active_ns: when it last had work, by the loop's clock
 * @window_ns: its own polling window, in the policies where it has one
 * @jiffy: the rate policy's: the last jiffy with a notification
 * @work: the rate policy's: notifications in that jiffy
 *
 * The owner sets @ops and @fd, and may read @events and @armed; the rest belongs to the loop.
 */
struct event_source {
	const struct event_source_ops *ops;
	int fd;
	uint32_t events;
	bool armed;
	bool ready;
	struct iothread *it;
	unsigned int index;
	uint64_t active_ns;
	uint64_t window_ns;
	uint64_t jiffy;
	uint64_t work;
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

/**
 * struct iothread_stats - what one iothread counts about itself
 *
 * Written by its thread, read by any.
 */
struct iothread_stats {
	counter_t turns;		/* of the event loop */
	counter_t poll_ns;
	counter_t poll_hits;		/* polling phases that found work */
	counter_t poll_misses;		/* polling phases that ran out */
	counter_t yields;		/* polling without end, to others that wanted the CPU */
	counter_t waits;		/* for events, however long; most may be there already */
	counter_t wakeups;		/* waits that ended with work */
	counter_t sleeps;		/* waits in which the thread slept: as iothread_sample() saw it */
	struct hist waits_ns[2];	/* until there was work, by whether requests were in flight, where the clock is read */
	counter_t window_now;
	counter_t window_min;
	counter_t window_max;
	counter_t source_window_min;	/* of those polled now, where each source has a window */
	counter_t source_window_max;
	counter_t kicks;		/* notifications that drivers sent: as iothread_sample() saw them */
	counter_t noticed;		/* of drivers and clients, that ended a wait */
	counter_t calls;		/* notifications sent */
	counter_t batches;		/* returned to drivers, with or without a call */
	counter_t tid;
	counter_t user_ns;		/* CPU time and switches: as iothread_sample() saw them */
	counter_t system_ns;
	counter_t voluntary;
	counter_t involuntary;
};

#define IOTHREAD_SOURCES	4096

/**
 * struct iothread - a thread that polls its sources for a while and then sleeps on them
 *
 * @source has three zones. First come the @nr_polled sources that the policy polls; they are
 * armed only while the thread sleeps. Up to @nr_awake follow those that have just been
 * added, or had work, and are to be armed before the next wait. The rest is armed and left to
 * epoll: a turn of the loop never walks over it. Of those polled, the first @nr_hot are looked at
 * in each pass; the others have been idle while the thread polls without end, see busy.c.
 */
struct iothread {
	char name[16];
	unsigned int index;		/* of the target's iothreads */
	cpu_set_t cpus;			/* pinned to; empty for any */
	pthread_t thread;
	struct poll_policy policy;
	struct iothread_stats stats;

	struct event_source **source;
	unsigned int nr_hot;
	unsigned int nr_polled;
	unsigned int nr_awake;
	unsigned int nr_sources;
	struct event_source **ready;	/* those with work in this turn, NULL for one removed since */
	unsigned int nr_ready;
	unsigned int next;		/* which to poll, one by one */
	unsigned int next_cold;		/* which to poll of those that have been idle for long */
	unsigned int looked_cold;	/* looks at these since @cold_ns */
	uint64_t cold_ns;		/* polling without end: when their present period began */
	unsigned int unclocked;		/* passes until the clock is read again */
	bool polled_armed;		/* some of those polled are armed */
	uint64_t now;			/* the clock as last read */
	uint64_t look_ns;		/* when to look at those that are not polled */
	struct crowd crowd;		/* of a thread that polls without end */
	uint64_t idle_ns;		/* when the first of those polled may have been idle too long */
	int epoll_fd;
	struct guard guard;		/* of calls that a peer could make wait */
	struct signaller signaller;	/* the way to make them all the same; opened when first needed */
	struct channel *channel;	/* its way to the backends; see channel_start() */
	struct deferred *deferred;
	unsigned int in_flight;		/* requests at the backends, each to be finished here */
	uint64_t wakeup_cost_ns;	/* CPU time to burn after a sleep */
	uint64_t forever_since;		/* polls without end since then, by the clock; 0 while it does not */
	uint64_t worked_ns;		/* of that, estimated to be its handlers', and not accounted for yet */
	unsigned int untimed;		/* turns until the handlers' time is taken */
	uint64_t first_switches;	/* voluntary ones of the thread before it entered its loop */
	struct event_source wake;	/* another thread has a call for this one */

	atomic_bool call_pending;
	pthread_mutex_t call_lock;	/* one caller at a time */
	void (*call_fn)(void *arg);
	void *call_arg;
	sem_t call_done;
	bool stop;
} __attribute__((aligned(THREAD_ALIGN)));

int iothread_start(struct iothread *it, unsigned int index, const cpu_set_t *cpus,
		   const struct poll_policy *policy);
void iothread_stop(struct iothread *it);
void iothread_call(struct iothread *it, void (*fn)(void *arg), void *arg);
void iothread_sample(struct iothread *it);
void iothread_stats_json(struct json *w, const struct iothread *it);
int iothread_add_source(struct iothread *it, struct event_source *s);
void iothread_watch_source(struct iothread *it, struct event_source *s, uint32_t events);
void iothread_remove_source(struct iothread *it, struct event_source *s);
void event_source_rearm(struct event_source *s);
void iothread_loop(struct iothread *it);
void iothread_count_polling(struct iothread *it);
void iothread_poll_for_ever(struct iothread *it);
void iothread_time_work(struct iothread *it, void (*work)(struct iothread *it));
void iothread_run_deferred(struct iothread *it);

/**
 * iothread_defer - run something once at the end of this turn
 * @it: the iothread; called in it
 * @d: what to run; asking twice is as good as once
 */
static inline void iothread_defer(struct iothread *it, struct deferred *d)
{
	if (d->queued)
		return;
	d->queued = true;
	d->next = it->deferred;
	it->deferred = d;
}

#endif
