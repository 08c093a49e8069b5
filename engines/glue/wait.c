/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fd.h"
#include "engines/glue/wait.h"

/* Looks at memory between two looks at the clock, when only stuck requests need it. */
#define SPINS_PER_CLOCK	1024

/* The same when the CPU is wanted by others. */
#define SPINS_CROWDED	16

/* How often a job that never sleeps makes sure that its peer still lives. */
#define PEER_CHECK_NS	10000000

/**
 * waiter_init - set a job's way of waiting up
 * @w: filled in
 * @mode: spin, poll, block or adaptive
 * @max_ns: longest polling window of WAIT_ADAPTIVE, in ns
 * @source: what to wait for, copied; its notifications are off
 */
void waiter_init(struct waiter *w, enum wait_mode mode, uint64_t max_ns,
		 const struct wait_source *source)
{
	*w = (struct waiter) {
		.mode = mode,
		.window = { .max_ns = max_ns, .grow = 2 },
		.source = *source,
	};
	w->source.disarm(w->source.arg);
}

static void disarm(struct waiter *w)
{
	if (w->armed) {
		w->armed = false;
		w->source.disarm(w->source.arg);
	}
}

/* Returns 0, or why the peer is gone: nobody sends anything on a connection that is set up. */
static int check_peer(struct waiter *w, uint64_t now)
{
	w->checked_ns = now;
	if (w->source.peer)
		return w->source.peer(w->source.arg);
	return fd_events(w->source.peer_fd, POLLIN) ? -ECONNRESET : 0;
}

static int sleep_for(struct waiter *w, uint64_t ns)
{
	struct pollfd p[] = {
		{ .fd = w->source.fd, .events = POLLIN },
		{ .fd = w->source.peer_fd, .events = POLLIN },
	};
	struct timespec ts = ns_timespec(ns);
	uint64_t count;
	int ret;

	w->stats.sleeps++;
	ret = ppoll(p, 2, &ts, NULL);
	PROBE(engine_woken);
	trace_batch(w->trace, TRACE_AWAKE, 0, 0);
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	if (!ret)
		return -ETIMEDOUT;
	if (p[0].revents && read(w->source.fd, &count, sizeof(count)) == sizeof(count))
		w->stats.calls += count;
	/* What the peer completed before it went is in memory, and taken first. */
	if (w->source.ready(w->source.arg))
		return 0;
	if (w->source.peer)
		return w->source.peer(w->source.arg);
	return p[1].revents ? -ECONNRESET : 0;
}

static int block(struct waiter *w, uint64_t timeout_ns)
{
	uint64_t start = clock_coarse_ns(), left = timeout_ns;
	int ret = 0;

	for (;;) {
		w->armed = true;
		/* The look after arming is what a racing completion would be lost without. */
		if (!w->source.arm(w->source.arg))
			ret = sleep_for(w, left);
		w->waited_ns = clock_coarse_ns() - start;
		if (ret || w->source.ready(w->source.arg))
			break;
		/* The notification was stale, or a signal ended the sleep: that gives no more time. */
		if (w->waited_ns >= timeout_ns) {
			ret = -ETIMEDOUT;
			break;
		}
		left = timeout_ns - w->waited_ns;
	}
	disarm(w);
	return ret ? ret : 1;
}

/*
 * Poll for ever, with an eye on the peer; the clock is read only once that takes long. With too
 * many others on this CPU, polling keeps them from what it polls for, and sleeping is faster.
 */
static int spin(struct waiter *w, uint64_t timeout_ns)
{
	uint64_t start = 0;

	disarm(w);
	crowd_begin(&w->crowd);
	for (;;) {
		unsigned int looks = w->crowd.resting ? 1 : w->crowd.crowded ? SPINS_CROWDED : SPINS_PER_CLOCK;
		uint64_t now;
		int ret;

		for (unsigned int i = 0; i < looks; i++) {
			if (w->source.ready(w->source.arg)) {
				w->stats.polls++;
				return start != 0;
			}
			cpu_relax();
		}
		now = clock_ns();
		if (!start)
			start = now;
		w->waited_ns = now - start;
		if (w->waited_ns >= timeout_ns)
			return -ETIMEDOUT;
		if (crowd_look(&w->crowd, now, w->mode == WAIT_POLL))
			return block(w, timeout_ns - w->waited_ns);
		if (now - w->checked_ns < PEER_CHECK_NS)
			continue;
		ret = check_peer(w, now);
		/* What the peer completed before it went is in memory, and taken first. */
		if (ret)
			return w->source.ready(w->source.arg) ? 1 : ret;
	}
}

/* Poll for a window; returns whether a completion was found. */
static bool spin_window(struct waiter *w, uint64_t start)
{
	uint64_t now = start;
	bool found;

	disarm(w);
	do {
		found = w->source.ready(w->source.arg);
		now = clock_ns();
		cpu_relax();
	} while (!found && now - start < w->window.ns);
	w->stats.poll_ns += now - start;
	w->stats.polls += found;
	return found;
}

static int adapt(struct waiter *w, uint64_t timeout_ns)
{
	bool found = false;
	uint64_t start;
	int ret = 0;

	if (!w->window.max_ns || backoff_skips(&w->backoff))
		return block(w, timeout_ns);

	start = clock_ns();
	if (w->window.ns) {
		found = spin_window(w, start);
		backoff_note(&w->backoff, found);
	}
	if (!found)
		ret = block(w, timeout_ns);
	poll_window_update(&w->window, clock_ns() - start);
	return ret;
}

/**
 * waiter_wait - wait until there is a completion
 * @w: how
 * @timeout_ns: when to give up, in ns from now
 *
 * Return: 0 with a completion, 1 with one that took so long that a look at the clock costs nothing
 * beside it, -ETIMEDOUT, or what says why the peer is gone, such as -ECONNRESET. After 1 and
 * -ETIMEDOUT @w->waited_ns tells how long it was.
 */
int waiter_wait(struct waiter *w, uint64_t timeout_ns)
{
	if (w->source.ready(w->source.arg))
		return 0;

	switch (w->mode) {
	case WAIT_SPIN:
	case WAIT_POLL:
		return spin(w, timeout_ns);
	case WAIT_BLOCK:
		return block(w, timeout_ns);
	case WAIT_ADAPTIVE:
		break;
	}
	return adapt(w, timeout_ns);
}
