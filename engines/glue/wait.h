/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENGINES_GLUE_WAIT_H
#define ENGINES_GLUE_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/crowd.h"
#include "base/poll-window.h"
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
};

/* As in job files. */
static inline const char *wait_mode_name(enum wait_mode mode)
{
	static const char *const names[] = {
		[WAIT_SPIN] = "spin",
		[WAIT_POLL] = "poll",
		[WAIT_BLOCK] = "block",
		[WAIT_ADAPTIVE] = "adaptive",
	};

	return names[mode];
}

struct waiter;

/**
 * struct wait_source - what a job waits for
 * @ready: look for a completion, in memory only
 * @arm: turn notifications on; true when a completion came in between
 * @disarm: turn notifications off
 * @fd: readable after a notification, an eventfd
 * @peer_fd: the connection; readable or closed means that the peer is gone; -1 without
 * @peer: 0, or a negative errno when the peer is gone for good, where that is not seen of @peer_fd;
 *	@fd is written when that changes; may be NULL
 */
struct wait_source {
	bool (*ready)(void *arg);
	bool (*arm)(void *arg);
	void (*disarm)(void *arg);
	void *arg;
	int fd;
	int peer_fd;
	int (*peer)(void *arg);
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
 * @mode: spin, poll, block or adaptive
 * @window: polling window of WAIT_ADAPTIVE
 * @backoff: whether that is of use
 * @armed: notifications are on
 * @checked_ns: when the peer was last looked at
 * @waited_ns: how long the last wait took that was not a short one, in ns
 * @crowd: whether a job that polls has its CPU to itself
 * @trace: where to write sleeps down, NULL for nowhere; the user's to set
 */
struct waiter {
	enum wait_mode mode;
	struct poll_window window;
	struct backoff backoff;
	bool armed;
	uint64_t checked_ns;
	uint64_t waited_ns;
	struct crowd crowd;
	struct wait_source source;
	struct wait_stats stats;
	struct trace_ring *trace;
};

void waiter_init(struct waiter *w, enum wait_mode mode, uint64_t max_ns,
		 const struct wait_source *source);
int waiter_wait(struct waiter *w, uint64_t timeout_ns);

#endif
