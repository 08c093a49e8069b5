/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_WAIT_H
#define ENGINES_GLUE_WAIT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/cpu.h"
#include "base/crowd.h"
#include "base/poll-window.h"
#include "base/wait-forecast.h"
#include "engines/glue/backoff.h"
#include "wire/trace.h"

/*
 * An engine without a choice never sleeps, so that is what zero stands for. WAIT_POLL sleeps only
 * where others need the CPU that it polls on: see crowd_look().
 */
enum wait_mode {
	WAIT_SPIN,
	WAIT_POLL,
	WAIT_BLOCK,
	WAIT_ADAPTIVE,
	WAIT_HYBRID,
};

/* As in job files. */
static inline const char *wait_mode_name(enum wait_mode mode)
{
	static const char *const names[] = {
		[WAIT_SPIN] = "spin",
		[WAIT_POLL] = "poll",
		[WAIT_BLOCK] = "block",
		[WAIT_ADAPTIVE] = "adaptive",
		[WAIT_HYBRID] = "hybrid",
	};

	return names[mode];
}

/* Most descriptors that a job sleeps on. */
#define WAIT_FDS_MAX	64

struct job;

/**
 * struct wait_ops - how completions reach an engine's job
 * @look: look for completions without sleeping
 * @before_sleep: have the job woken up by what comes from now on, and look once more
 * @after_sleep: the job looks by itself again; may be NULL
 * @fds: fill in what to poll(2), at most WAIT_FDS_MAX; returns how many
 * @woken: take what poll(2) has found
 * @peer: 0, or a negative errno when the peer is gone; NULL where @look tells
 * @looks: looks between two readings of the clock
 * @looks_crowded: the same when other threads want the CPU
 * @first_looks: looks at the beginning of a wait that does not poll; 0 where each is a system call
 *
 * @look, @before_sleep and @woken return 1 when something came, 0 when nothing did, or a negative
 * errno when the peer is gone.
 */
struct wait_ops {
	int (*look)(struct job *j);
	int (*before_sleep)(struct job *j);
	void (*after_sleep)(struct job *j);
	unsigned int (*fds)(struct job *j, struct pollfd *p);
	int (*woken)(struct job *j, const struct pollfd *p);
	int (*peer)(struct job *j);
	unsigned int looks;
	unsigned int looks_crowded;
	unsigned int first_looks;
};

/**
 * struct wait_stats - how a job waited; written and read by its job alone
 * @polls: waits that ended while polling
 * @poll_ns: time spent polling, of waits that looked at the clock
 * @sleeps: times the job slept
 * @calls: notifications received
 */
struct wait_stats {
	uint64_t polls;
	uint64_t poll_ns;
	uint64_t sleeps;
	uint64_t calls;
};

/**
 * struct waiter - a job's way of waiting
 * @mode: spin, poll, block, adaptive or hybrid
 * @polls: @mode is one that polls until something comes
 * @looks: how many looks come first in the next wait
 * @ops: the engine's
 * @job: their argument
 * @window: polling window of WAIT_ADAPTIVE; its limit is also WAIT_HYBRID's
 * @forecast: sleep and polling window of WAIT_HYBRID
 * @late_ns: how late its sleeps end, smoothed
 * @backoff: whether polling in a window is of use
 * @checked_ns: when the peer was last looked at
 * @waited_ns: how long the last long wait took, in ns
 * @crowd: whether a job that polls has its CPU to itself
 * @trace: where to write sleeps down, NULL for nowhere
 */
struct waiter {
	enum wait_mode mode;
	bool polls;
	unsigned int looks;
	const struct wait_ops *ops;
	struct job *job;
	struct poll_window window;
	struct wait_forecast forecast;
	uint64_t late_ns;
	struct backoff backoff;
	uint64_t checked_ns;
	uint64_t waited_ns;
	struct crowd crowd;
	struct wait_stats stats;
	struct trace_ring *trace;
};

void waiter_init(struct waiter *w, enum wait_mode mode, uint64_t max_ns, const struct wait_ops *ops,
		 struct job *j, struct trace_ring *trace);
int waiter_wait_long(struct waiter *w, uint64_t timeout_ns);

/* Returns as wait_ops.look(). */
static __attribute__((always_inline)) inline int waiter_look(struct waiter *w,
							     const struct wait_ops *ops)
{
	for (unsigned int n = w->looks; n; n--) {
		int ret = ops->look(w->job);

		if (ret) {
			w->stats.polls += w->polls;
			return ret;
		}
		cpu_relax();
	}
	return 0;
}

/**
 * waiter_wait - wait until something comes
 * @w: how
 * @ops: @w->ops, as a constant, so that the first looks are inlined
 * @timeout_ns: when to give up, in ns from now
 *
 * Return: 0 with something that came soon; 1 with something that came so late that a look at the
 * clock costs nothing beside it; -ETIMEDOUT; or why the peer is gone, such as -ECONNRESET. After 1
 * and -ETIMEDOUT @w->waited_ns tells how long it was.
 */
static __attribute__((always_inline)) inline int waiter_wait(struct waiter *w,
							     const struct wait_ops *ops,
							     uint64_t timeout_ns)
{
	int ret;

	crowd_begin(&w->crowd);
	ret = waiter_look(w, ops);
	if (likely(ret))
		return ret < 0 ? ret : 0;
	return waiter_wait_long(w, timeout_ns);
}

#endif
