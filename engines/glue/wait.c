/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>
#include "base/clock.h"
#include "engines/glue/wait.h"

/* How often a job that never sleeps makes sure that its peer still lives. */
#define PEER_CHECK_NS	10000000

/* A wait of WAIT_HYBRID as long as this is late: see waiter_wait(). */
#define HYBRID_LATE_NS	1000000

/* A thread that shares its CPU looks at the clock more often, as it does to yield. */
static void choose_looks(struct waiter *w)
{
	if (!w->polls || w->crowd.resting)
		w->looks = w->ops->first_looks;
	else
		w->looks = w->crowd.crowded ? w->ops->looks_crowded : w->ops->looks;
}

/**
 * waiter_init - set a job's way of waiting up
 * @w: filled in
 * @mode: spin, poll, block, adaptive or hybrid
 * @max_ns: longest polling window of WAIT_ADAPTIVE and WAIT_HYBRID, in ns
 * @ops: the engine's
 * @j: their argument; what it waits for is there already
 * @trace: where to write sleeps down, NULL for nowhere
 */
void waiter_init(struct waiter *w, enum wait_mode mode, uint64_t max_ns, const struct wait_ops *ops,
		 struct job *j, struct trace_ring *trace)
{
	*w = (struct waiter) {
		.mode = mode,
		.polls = mode == WAIT_SPIN || mode == WAIT_POLL,
		.ops = ops,
		.job = j,
		.window = { .max_ns = max_ns, .grow = 2 },
		.forecast = { .window_ns = max_ns },
		.late_ns = FORECAST_LATE_NS,
		.trace = trace,
	};
	choose_looks(w);
	/* The default, 50 us, is as long as the waits are that a forecast is made of. */
	if (mode == WAIT_HYBRID)
		prctl(PR_SET_TIMERSLACK, 1);
	if (ops->after_sleep)
		ops->after_sleep(j);
}

static int sleep_for(struct waiter *w, uint64_t ns)
{
	struct timespec ts = ns_timespec(ns);
	struct pollfd p[WAIT_FDS_MAX];
	unsigned int n = w->ops->fds(w->job, p);
	int ret;

	w->stats.sleeps++;
	ret = ppoll(p, n, &ts, NULL);
	PROBE(engine_woken);
	trace_batch(w->trace, TRACE_AWAKE, 0, 0);
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	return ret ? w->ops->woken(w->job, p) : -ETIMEDOUT;
}

/* Returns as waiter_wait(); less than a tick of the clock is soon. */
static int block(struct waiter *w, uint64_t timeout_ns)
{
	uint64_t start = clock_coarse_ns(), left = timeout_ns;
	int ret;

	for (;;) {
		ret = w->ops->before_sleep(w->job);
		if (!ret)
			ret = sleep_for(w, left);
		w->waited_ns = clock_coarse_ns() - start;
		if (ret)
			break;
		/* A call that brought nothing, or a signal, ended the sleep: the deadline stays. */
		if (w->waited_ns >= timeout_ns) {
			ret = -ETIMEDOUT;
			break;
		}
		left = timeout_ns - w->waited_ns;
	}
	if (w->ops->after_sleep)
		w->ops->after_sleep(w->job);
	return ret > 0 ? w->waited_ns != 0 : ret;
}

/* Returns 0, 1 when something came after all, or why the peer is gone. */
static int check_peer(struct waiter *w, uint64_t now)
{
	int ret, came;

	if (!w->ops->peer || now - w->checked_ns < PEER_CHECK_NS)
		return 0;
	w->checked_ns = now;
	ret = w->ops->peer(w->job);
	if (!ret)
		return 0;
	/* What the peer completed before it went is in memory, and taken first. */
	came = w->ops->look(w->job);
	return came ? came : ret;
}

/*
 * Poll on, with an eye on the peer. With too many others on this CPU, polling keeps them from
 * what it polls for, and sleeping is faster.
 */
static int spin(struct waiter *w, uint64_t timeout_ns)
{
	uint64_t start = clock_ns(), now = start;
	bool sleeps;
	int ret;

	for (;;) {
		w->waited_ns = now - start;
		if (w->waited_ns >= timeout_ns)
			return -ETIMEDOUT;
		sleeps = crowd_look(&w->crowd, now, w->mode == WAIT_POLL);
		choose_looks(w);
		if (sleeps)
			return block(w, timeout_ns - w->waited_ns);
		ret = check_peer(w, now);
		if (!ret)
			ret = waiter_look(w, w->ops);
		if (ret)
			return ret;
		now = clock_ns();
	}
}

/* Poll for @window_ns from @start on; returns as wait_ops.look(). */
static int spin_window(struct waiter *w, uint64_t start, uint64_t window_ns)
{
	uint64_t now;
	int ret;

	do {
		ret = w->ops->look(w->job);
		now = clock_ns();
		cpu_relax();
	} while (!ret && now - start < window_ns);
	w->stats.poll_ns += now - start;
	w->stats.polls += ret > 0;
	return ret;
}

static int adapt(struct waiter *w, uint64_t timeout_ns)
{
	int ret = 0, came = 0;
	uint64_t start;

	if (!w->window.max_ns || backoff_skips(&w->backoff))
		return block(w, timeout_ns);

	start = clock_ns();
	if (w->window.ns) {
		came = spin_window(w, start, w->window.ns);
		backoff_note(&w->backoff, came > 0);
	}
	if (came < 0)
		return came;
	if (!came)
		ret = block(w, timeout_ns);
	poll_window_update(&w->window, clock_ns() - start);
	return ret;
}

/* Sleep for @ns, or until something comes; returns as wait_ops.look(). */
static int nap(struct waiter *w, uint64_t ns)
{
	uint64_t start = clock_ns();
	int ret = w->ops->before_sleep(w->job);

	if (!ret)
		ret = sleep_for(w, ns);
	if (ret == -ETIMEDOUT) {
		w->late_ns = wait_late_learn(w->late_ns, ns, clock_ns() - start);
		ret = 0;
	}
	if (w->ops->after_sleep)
		w->ops->after_sleep(w->job);
	return ret;
}

/* Sleep for as long as waits have always lasted, then poll until nearly all of them are over, then sleep. */
static int sleep_and_poll(struct waiter *w, uint64_t timeout_ns)
{
	const struct wait_forecast *f = &w->forecast;
	uint64_t start = clock_ns(), now = start;
	bool polls = f->window_ns && !backoff_skips(&w->backoff);
	int ret = 0;

	if (polls && f->sleep_ns && f->sleep_ns < timeout_ns) {
		ret = nap(w, f->sleep_ns);
		now = clock_ns();
	}
	if (polls && !ret) {
		ret = spin_window(w, now, f->window_ns);
		backoff_note(&w->backoff, ret > 0);
		now = clock_ns();
	}
	if (!ret && now - start < timeout_ns)
		ret = block(w, timeout_ns - (now - start));
	else if (!ret)
		ret = -ETIMEDOUT;
	w->waited_ns = clock_ns() - start;
	wait_forecast_learn(&w->forecast, w->waited_ns, w->window.max_ns, w->late_ns);
	return ret < 0 ? ret : w->waited_ns >= HYBRID_LATE_NS;
}

/**
 * waiter_wait_long - go on with a wait whose first looks found nothing
 * @w: how
 * @timeout_ns: when to give up, in ns from now
 *
 * Return: as waiter_wait().
 */
int waiter_wait_long(struct waiter *w, uint64_t timeout_ns)
{
	if (w->polls)
		return spin(w, timeout_ns);
	if (w->mode == WAIT_HYBRID)
		return sleep_and_poll(w, timeout_ns);
	return w->mode == WAIT_ADAPTIVE ? adapt(w, timeout_ns) : block(w, timeout_ns);
}
