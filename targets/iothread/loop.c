/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/epoll.h>
#include "base/clock.h"
#include "targets/iothread/iothread.h"

#define EVENTS_MAX	64

/*
 * While others keep the thread from sleeping, sources that are not polled are looked at this
 * often. QEMU looks in each pass, at a ring that io_uring fills; epoll takes a system call.
 */
#define LOOK_NS		32768

/* Passes that found nothing before a thread that polls for ever asks whether others want its CPU. */
#define PASSES_PER_LOOK		1024
#define PASSES_CROWDED		16

/* The zones of it->source, see struct iothread: a source goes one up or down at a time. */

static void put(struct iothread *it, unsigned int at, struct event_source *s)
{
	it->source[at] = s;
	s->index = at;
}

static void exchange(struct iothread *it, unsigned int a, unsigned int b)
{
	struct event_source *s = it->source[a];

	put(it, a, it->source[b]);
	put(it, b, s);
}

static void wake_up(struct iothread *it, struct event_source *s)
{
	if (s->index >= it->nr_awake)
		exchange(it, s->index, it->nr_awake++);
}

static void start_polling(struct iothread *it, struct event_source *s)
{
	exchange(it, s->index, it->nr_polled++);
	s->active_ns = it->now;
	if (it->nr_polled == 1)
		it->idle_ns = it->now + it->policy.idle_ns;
	if (s->armed)
		it->polled_armed = true;
}

static void show_window(struct iothread *it)
{
	struct iothread_stats *s = &it->stats;
	uint64_t window = it->policy.window_ns;

	if (window == counter_get(&s->window_now))
		return;
	counter_set(&s->window_now, window);
	if (window < counter_get(&s->window_min))
		counter_set(&s->window_min, window);
	if (window > counter_get(&s->window_max))
		counter_set(&s->window_max, window);
}

static void polled_changed(struct iothread *it)
{
	struct poll_policy *p = &it->policy;

	if (p->ops->changed)
		p->ops->changed(p, it->source, it->nr_polled);
	show_window(it);
}

static void disarm(struct event_source *s)
{
	if (s->armed) {
		s->armed = false;
		s->ops->disarm(s);
	}
}

/* Notifications on, and one last look behind it, or a racing kick would be lost. */
static bool arm(struct event_source *s)
{
	if (s->armed)
		return false;
	s->armed = true;
	return s->ops->arm(s);
}

static bool take_events(struct iothread *it, int timeout)
{
	struct epoll_event ev[EVENTS_MAX];
	int n;

	/* io_uring interrupts the thread to have it do its part; what that brought is there then. */
	do {
		n = epoll_wait(it->epoll_fd, ev, EVENTS_MAX, timeout);
	} while (n < 0 && errno == EINTR);

	for (int i = 0; i < n; i++) {
		struct event_source *s = ev[i].data.ptr;

		s->ready = true;
		s->events = ev[i].events;
		wake_up(it, s);
		if (s->ops->woken)
			s->ops->woken(s);
	}
	it->look_ns = it->now + LOOK_NS;
	return n > 0;
}

/* Those polled for too long without success go back to notifications. */
static void drop_idle(struct iothread *it)
{
	uint64_t idle_ns = it->policy.idle_ns, first = it->now + idle_ns;
	unsigned int before = it->nr_polled;

	for (unsigned int i = it->nr_polled; i-- > 0; ) {
		uint64_t until = it->source[i]->active_ns + idle_ns;

		if (it->now >= until)
			exchange(it, i, --it->nr_polled);
		else if (until < first)
			first = until;
	}
	it->idle_ns = first;
	if (it->nr_polled != before)
		polled_changed(it);
}

/* What is awake and not polled is armed and left to epoll, unless it has work. */
static bool settle(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = it->nr_awake; i-- > it->nr_polled; ) {
		struct event_source *s = it->source[i];

		if (s->ready || arm(s)) {
			s->ready = true;
			found = true;
		} else {
			exchange(it, i, --it->nr_awake);
		}
	}
	return found;
}

/* Whether it is time to look at those that only epoll knows of */
static bool looks_due(const struct iothread *it)
{
	return (it->nr_awake < it->nr_sources || it->polled_armed) && it->now >= it->look_ns;
}

/* One pass over the polled sources. */
static bool poll_sources(struct iothread *it, uint64_t now)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_polled; i++) {
		struct event_source *s = it->source[i];

		if (s->ops->poll(s, now)) {
			s->ready = true;
			found = true;
		}
	}
	return found;
}

/* Poll until work is found or the window is over. */
static bool poll_window(struct iothread *it)
{
	uint64_t start = it->now;
	unsigned int every = it->policy.clock_every, left = every;
	/* QEMU's first version was deaf to all others until its window was over. */
	bool looks = every == 1 && it->nr_awake < it->nr_sources;

	for (;;) {
		bool found = poll_sources(it, every == 1 ? it->now : 0);

		if (!found && --left) {
			cpu_relax();
			continue;
		}
		it->now = clock_ns();
		if (!found && looks && it->now >= it->look_ns)
			found = take_events(it, 0);
		if (found || it->now - start >= it->policy.window_ns) {
			counter_add(&it->stats.poll_ns, it->now - start);
			counter_add(found ? &it->stats.poll_hits : &it->stats.poll_misses, 1);
			return found;
		}
		left = every;
		cpu_relax();
	}
}

/* Poll one source after the other, until work is found or something is to be done by the clock. */
static void poll_one_by_one(struct iothread *it)
{
	for (;;) {
		struct event_source *s;

		if (!--it->unclocked) {
			it->unclocked = it->policy.clock_every;
			it->now = clock_ns();
			if (it->now >= it->idle_ns || looks_due(it))
				return;
		}
		if (it->next >= it->nr_polled)
			it->next = 0;
		s = it->source[it->next++];
		if (s->ops->poll(s, 0)) {
			s->ready = true;
			counter_add(&it->stats.poll_hits, 1);
			return;
		}
		cpu_relax();
	}
}

static void poll_for_ever(struct iothread *it)
{
	unsigned int passes = 0;

	while (!poll_sources(it, 0)) {
		cpu_relax();
		if (++passes < (it->crowd.crowded ? PASSES_CROWDED : PASSES_PER_LOOK))
			continue;
		passes = 0;
		crowd_look(&it->crowd, clock_ns(), false);
		counter_set(&it->stats.yields, it->crowd.yields);
	}
}

static bool poll_phase(struct iothread *it)
{
	if (it->polled_armed) {
		it->polled_armed = false;
		for (unsigned int i = 0; i < it->nr_polled; i++)
			disarm(it->source[i]);
	}

	if (it->policy.window_ns != POLL_FOREVER)
		return poll_window(it);
	if (it->policy.one_by_one) {
		poll_one_by_one(it);
		return true;
	}
	poll_for_ever(it);
	return true;
}

/* Notifications on everywhere; true when work came in between. */
static bool arm_polled(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_polled; i++) {
		struct event_source *s = it->source[i];

		if (arm(s)) {
			s->ready = true;
			found = true;
		}
	}
	it->polled_armed = it->nr_polled;
	return found;
}

static void sleep_phase(struct iothread *it)
{
	counter_add(&it->stats.sleeps, 1);
	if (take_events(it, -1))
		counter_add(&it->stats.wakeups, 1);
	if (it->wakeup_cost_ns)
		clock_burn(it->wakeup_cost_ns);
	it->now = clock_ns();
	it->look_ns = it->now + LOOK_NS;
}

/* Poll, then sleep, until a source has work. */
static void wait_for_work(struct iothread *it)
{
	bool found = it->nr_awake > it->nr_polled && settle(it);

	if (!found && it->nr_polled && it->policy.window_ns && poll_phase(it)) {
		if (looks_due(it))
			take_events(it, 0);
	} else if (found || arm_polled(it)) {
		it->now = clock_ns();
		if (looks_due(it))
			take_events(it, 0);
	} else {
		sleep_phase(it);
	}
}

/* Sources that turned out to have work may be polled from now on. */
static void admit(struct iothread *it)
{
	struct poll_policy *p = &it->policy;
	unsigned int before = it->nr_polled;

	for (unsigned int i = it->nr_polled; i < it->nr_awake; i++) {
		struct event_source *s = it->source[i];

		if (s->ready && p->ops->joins(p, s, it->now))
			start_polling(it, s);
	}
	if (it->nr_polled != before)
		polled_changed(it);
}

static void learn(struct iothread *it, uint64_t waited_ns)
{
	struct poll_policy *p = &it->policy;

	p->ops->learn(p, it->source, it->nr_polled, waited_ns);
	show_window(it);
	if (p->ops->joins) {
		counter_set(&it->stats.source_window_min, p->source_min_ns);
		counter_set(&it->stats.source_window_max, p->source_max_ns);
	}
}

static void dispatch_ready(struct iothread *it)
{
	/* A handler may remove sources, its own or another: see iothread_remove_source(). */
	for (unsigned int i = it->nr_awake; i-- > 0; ) {
		struct event_source *s = i < it->nr_awake ? it->source[i] : NULL;

		if (s && s->ready) {
			s->ready = false;
			s->active_ns = it->now;
			disarm(s);
			s->ops->dispatch(s);
		}
	}
}

/**
 * iothread_run_deferred - do what has been put off
 * @it: the iothread; called in it
 *
 * What is deferred meanwhile comes in the same go.
 */
void iothread_run_deferred(struct iothread *it)
{
	struct deferred *d;

	while ((d = it->deferred)) {
		it->deferred = d->next;
		d->queued = false;
		d->fn(d);
	}
}

/* Wait for work, then do it. */
static void turn(struct iothread *it)
{
	struct poll_policy *p = &it->policy;
	uint64_t start;

	counter_add(&it->stats.turns, 1);
	if (p->clocked)
		it->now = clock_ns();
	start = it->now;
	if (p->idle_ns && it->now >= it->idle_ns)
		drop_idle(it);

	wait_for_work(it);

	if (it->nr_awake > it->nr_polled && p->ops->joins)
		admit(it);
	if (p->learns)
		learn(it, it->now - start);
	dispatch_ready(it);
	iothread_run_deferred(it);
}

/**
 * iothread_loop - serve an iothread's sources until it->stop is set
 * @it: the iothread; called in it
 */
void iothread_loop(struct iothread *it)
{
	while (!it->stop)
		turn(it);
}

/* Who never sleeps needs no epoll, which a socket's sender would have to pay for. */
static bool watches(const struct iothread *it)
{
	return it->policy.ops != &poll_busy;
}

/**
 * iothread_add_source - let an iothread serve a source
 * @it: the iothread; called in it, or before it runs
 * @s: the source; looked at in the next turn whether its fd is readable or not
 *
 * Return: 0, -ENOSPC with IOTHREAD_SOURCES sources, or what epoll said.
 */
int iothread_add_source(struct iothread *it, struct event_source *s)
{
	const struct poll_policy_ops *policy = it->policy.ops;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = s };

	if (it->nr_sources == IOTHREAD_SOURCES)
		return -ENOSPC;
	if (s->fd >= 0 && watches(it) && epoll_ctl(it->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev))
		return -errno;
	s->armed = false;
	s->ready = false;
	s->it = it;
	s->window_ns = 0;
	s->jiffy = 0;
	s->work = 0;
	put(it, it->nr_sources, s);
	exchange(it, it->nr_sources++, it->nr_awake++);
	if (policy->at_once && policy->at_once(s))
		start_polling(it, s);
	return 0;
}

/**
 * iothread_watch_source - change what of a source's fd wakes a sleeping thread
 * @it: the iothread; called in it
 * @s: one of its sources
 * @events: EPOLLIN, which is what it begins with, and others; what is there already counts
 *	as news
 */
void iothread_watch_source(struct iothread *it, struct event_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events | EPOLLET, .data.ptr = s };

	if (watches(it))
		epoll_ctl(it->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev);
}

/**
 * iothread_remove_source - stop serving a source
 * @it: the iothread; called in it
 * @s: the source; its fd is the caller's to close
 *
 * The last source of each zone takes the place of one before. dispatch_ready() walks
 * downwards, so that it misses none that way.
 */
void iothread_remove_source(struct iothread *it, struct event_source *s)
{
	unsigned int polled = it->nr_polled;

	if (s->fd >= 0 && watches(it))
		epoll_ctl(it->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	if (s->index < it->nr_polled)
		exchange(it, s->index, --it->nr_polled);
	if (s->index < it->nr_awake)
		exchange(it, s->index, --it->nr_awake);
	exchange(it, s->index, --it->nr_sources);
	s->it = NULL;
	if (it->nr_polled != polled)
		polled_changed(it);
}

/**
 * event_source_rearm - what a source waits for has changed, so arm it again before a sleep
 * @s: the source; called in its iothread, if it has one
 */
void event_source_rearm(struct event_source *s)
{
	if (!s->armed)
		return;
	s->armed = false;
	if (s->it)
		wake_up(s->it, s);
}

/**
 * iothread_defer - run something once at the end of this turn
 * @it: the iothread; called in it
 * @d: what to run; asking twice is as good as once
 */
void iothread_defer(struct iothread *it, struct deferred *d)
{
	if (d->queued)
		return;
	d->queued = true;
	d->next = it->deferred;
	it->deferred = d;
}
