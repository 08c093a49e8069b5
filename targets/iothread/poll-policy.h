/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TARGETS_IOTHREAD_POLL_POLICY_H
#define TARGETS_IOTHREAD_POLL_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/poll-window.h"
#include "base/wait-forecast.h"

struct event_source;
struct poll_policy;

/*
 * All policies: what --poll calls it, what it is in a word, its number, and its operations. One
 * more is a file and a line here (docs/poll-policies.md).
 */
#define POLL_POLICIES(POLICY) \
	POLICY("off", "never", POLL_OFF, poll_off) \
	POLICY("busy", "always", POLL_BUSY, poll_busy) \
	POLICY("fixed", "a time", POLL_FIXED, poll_fixed) \
	POLICY("fixed-1024", "the same with its clock read every 1024 passes", POLL_FIXED_1024, poll_fixed_1024) \
	POLICY("adaptive", "QEMU up to 9", POLL_ADAPTIVE, poll_adaptive) \
	POLICY("per-source", "QEMU 10", POLL_PER_SOURCE, poll_per_source) \
	POLICY("weighted", "QEMU 2026", POLL_WEIGHTED, poll_weighted) \
	POLICY("rate", "vhost 2014", POLL_RATE, poll_rate) \
	POLICY("inflight", "while requests are in flight", POLL_INFLIGHT, poll_inflight) \
	POLICY("hybrid", "sleeps for most of the usual wait, then polls", POLL_HYBRID, poll_hybrid)

#define NUMBER_POLICY(name, what, mode, ops)	mode,
enum poll_mode {
	POLL_POLICIES(NUMBER_POLICY)
	POLL_MODES
};
#undef NUMBER_POLICY

/* For --help: each with a comma behind it */
#define DESCRIBE_POLICY(name, what, mode, ops)	name " (" what "), "

/* Their names in that order, NULL at the end */
extern const char *const poll_names[];

/* A window that never ends. */
#define POLL_FOREVER	UINT64_MAX

/**
 * struct poll_config - which policy, and its settings
 * @mode: which
 * @max_ns: how long to poll: the fixed policies' window, the longest one of the others; 0 is
 *	not one pass, in any policy but POLL_BUSY
 * @grow: factor by which windows grow; 0 for the policy's own, 2
 * @shrink: divisor by which they shrink; 0 for the policy's own: back to 0, or 2 in
 *	POLL_WEIGHTED
 * @weight: POLL_WEIGHTED: an interval counts for one part in 2^weight; 0 for its own, 3
 * @start_rate: POLL_RATE: notifications in a jiffy (a millisecond) after which a source is
 *	polled; 0 for never
 * @stop_idle_ns: POLL_RATE: for how long a polled source may have no work
 */
struct poll_config {
	enum poll_mode mode;
	uint64_t max_ns;
	uint64_t grow;
	uint64_t shrink;
	unsigned int weight;
	uint64_t start_rate;
	uint64_t stop_idle_ns;
};

/**
 * struct poll_policy_ops - one policy; what is NULL it does without
 * @init: set policy->window_ns and whatever else differs from 0
 * @at_once: whether a new source is polled from the start
 * @joins: a source that was not polled turned out to have work, at @now_ns: whether to
 *	poll it from now on
 * @changed: other sources than before are polled now
 * @begin: a wait begins with @in_flight requests at the backends: set policy->window_ns and
 *	policy->sleep_ns for it
 * @learn: a wait is over; those of the @nr polled sources that ended it are marked ready, and
 *	their handlers have not run yet
 */
struct poll_policy_ops {
	void (*init)(struct poll_policy *p);
	bool (*at_once)(const struct event_source *s);
	bool (*joins)(struct poll_policy *p, struct event_source *s, uint64_t now_ns);
	void (*changed)(struct poll_policy *p, struct event_source *const *polled, unsigned int nr);
	void (*begin)(struct poll_policy *p, unsigned int in_flight);
	void (*learn)(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		      uint64_t waited_ns);
};

/**
 * struct poll_policy - how long an iothread polls before it sleeps, and which sources
 * @ops: which policy (docs/poll-policies.md)
 * @config: its settings, those left to it filled in
 * @window_ns: how long to poll now: 0 for not one pass, POLL_FOREVER for always
 * @sleep_ns: how long to sleep before that; 0 for not at all
 * @late_ns: how late such a sleep ends, smoothed; kept by the loop
 * @source_min_ns: shortest window of a polled source, where each has its own
 * @source_max_ns: longest one
 * @idle_ns: a source without work for that long is polled no more; 0 for never
 * @clock_every: passes over the sources between two looks at the clock
 * @one_by_one: a pass is one source, the next one each time
 * @deaf: whatever is not polled waits until the window is over
 * @clocked: the loop must read the clock before each wait
 * @begins: @ops->begin is there
 * @learns: @ops->learn is there
 * @waits: POLL_HYBRID's, without and with requests in flight
 * @waiting: which of these the wait is one of
 */
struct poll_policy {
	const struct poll_policy_ops *ops;
	struct poll_config config;
	uint64_t window_ns;
	uint64_t sleep_ns;
	uint64_t late_ns;
	uint64_t source_min_ns;
	uint64_t source_max_ns;
	uint64_t idle_ns;
	unsigned int clock_every;
	bool one_by_one;
	bool deaf;
	bool clocked;
	bool begins;
	bool learns;
	struct wait_forecast waits[2];
	struct wait_forecast *waiting;
};

#define DECLARE_POLICY(name, what, mode, ops)	extern const struct poll_policy_ops ops;
POLL_POLICIES(DECLARE_POLICY)
#undef DECLARE_POLICY

/* QEMU's POLL_IDLE_INTERVAL_NS, in the policies after it that poll active sources only */
#define POLL_QEMU_IDLE_NS	UINT64_C(7000000000)

void poll_policy_init(struct poll_policy *p, const struct poll_config *config);

/* For policies that poll whatever there is */
static inline bool poll_source_at_once(const struct event_source *s)
{
	(void)s;
	return true;
}

/* For policies that poll whatever has had work lately */
static inline bool poll_source_joins(struct poll_policy *p, struct event_source *s, uint64_t now_ns)
{
	(void)p;
	(void)s;
	(void)now_ns;
	return true;
}

#endif
