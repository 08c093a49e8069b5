/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "targets/iothread/zones.h"

#define EVENTS_MAX	64

/*
 * While others keep the thread from sleeping, sources that are not polled are looked at this
 * often. QEMU looks in each pass, at a ring that io_uring fills; epoll takes a system call.
 */
#define LOOK_NS		32768

static void show_window(struct iothread *it)
{
	struct iothread_stats *s = &it->stats;
	uint64_t window = it->policy.window_ns;

	if (window == counter_get(&s->window_now))
		return;
	iothread_count_polling(it);
	counter_set(&s->window_now, window);
	if (window < counter_get(&s->window_min))
		counter_set(&s->window_min, window);
	if (window > counter_get(&s->window_max))
		counter_set(&s->window_max, window);
}

/**
 * iothread_polled_changed - other sources than before are polled now
 * @it: the iothread; called in it
 */
void iothread_polled_changed(struct iothread *it)
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

static int wait_for_events(struct iothread *it, struct epoll_event ev[EVENTS_MAX], int timeout)
{
	int n;

	/* io_uring interrupts the thread to have it do its part; what that brought is there then. */
	do {
		n = epoll_wait(it->epoll_fd, ev, EVENTS_MAX, timeout);
	} while (n < 0 && errno == EINTR);
	return n;
}

static bool hand_out(struct iothread *it, const struct epoll_event ev[EVENTS_MAX], int n)
{
	for (int i = 0; i < n; i++) {
		struct event_source *s = ev[i].data.ptr;

		mark_ready(it, s);
		s->events = ev[i].events;
		zone_wake(it, s);
		if (s->ops->woken)
			s->ops->woken(s);
	}
	it->look_ns = it->now + LOOK_NS;
	return n > 0;
}

/* Look at those that only epoll knows of. */
static bool look(struct iothread *it)
{
	struct epoll_event ev[EVENTS_MAX];

	return hand_out(it, ev, wait_for_events(it, ev, 0));
}

/* Those polled for too long without success go back to notifications. */
static void drop_idle(struct iothread *it)
{
	uint64_t idle_ns = it->policy.idle_ns, first = it->now + idle_ns;
	unsigned int before = it->nr_polled;

	for (unsigned int i = it->nr_polled; i-- > 0; ) {
		uint64_t until = it->source[i]->active_ns + idle_ns;

		if (it->now >= until)
			zone_stop_polling(it, it->source[i]);
		else if (until < first)
			first = until;
	}
	it->idle_ns = first;
	if (it->nr_polled != before)
		iothread_polled_changed(it);
}

/* What is awake and not polled is armed and left to epoll, unless it has work. */
static bool leave_to_epoll(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = it->nr_awake; i-- > it->nr_polled; ) {
		struct event_source *s = it->source[i];

		if (s->ready || arm(s)) {
			mark_ready(it, s);
			found = true;
		} else {
			zone_exchange(it, i, --it->nr_awake);
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
			mark_ready(it, s);
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
	bool looks = !it->policy.deaf && it->nr_awake < it->nr_sources;

	for (;;) {
		bool found = poll_sources(it, every == 1 ? it->now : 0);

		if (!found && --left) {
			cpu_relax();
			continue;
		}
		it->now = clock_ns();
		if (!found && looks && it->now >= it->look_ns)
			found = look(it);
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
			mark_ready(it, s);
			counter_add(&it->stats.poll_hits, 1);
			return;
		}
		cpu_relax();
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
	iothread_poll_for_ever(it);
	return true;
}

/* Notifications on everywhere; true when work came in between. */
static bool arm_polled(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_polled; i++) {
		struct event_source *s = it->source[i];

		if (arm(s)) {
			mark_ready(it, s);
			found = true;
		}
	}
	it->polled_armed = it->nr_polled;
	return found;
}

/*
 * Wait until woken, and burn what being woken costs. Only a wait that found nothing to begin
 * with was a sleep, which takes a look of its own; without a cost nobody has to know.
 */
static int sleep_at_a_cost(struct iothread *it, struct epoll_event ev[EVENTS_MAX])
{
	int n = wait_for_events(it, ev, 0);

	if (n)
		return n;
	n = wait_for_events(it, ev, -1);
	clock_burn(it->wakeup_cost_ns);
	return n;
}

static void sleep_phase(struct iothread *it)
{
	struct epoll_event ev[EVENTS_MAX];
	int n;

	counter_add(&it->stats.waits, 1);
	n = unlikely(it->wakeup_cost_ns) ? sleep_at_a_cost(it, ev) : wait_for_events(it, ev, -1);
	it->now = clock_ns();
	if (hand_out(it, ev, n))
		counter_add(&it->stats.wakeups, 1);
}

/*
 * Sleep for the time in which nothing is expected, with notifications on: true when something
 * came all the same. A kernel without epoll_pwait2() (before 5.11) polls instead.
 */
static bool nap(struct iothread *it)
{
	uint64_t start = clock_ns(), gone = start - it->now;
	uint64_t ns = it->policy.sleep_ns > gone ? it->policy.sleep_ns - gone : 0;
	const struct timespec timeout = ns_timespec(ns);
	struct epoll_event ev[EVENTS_MAX];
	int n;

	counter_add(&it->stats.waits, 1);
	n = epoll_pwait2(it->epoll_fd, ev, EVENTS_MAX, &timeout, NULL);
	if (unlikely(it->wakeup_cost_ns))
		clock_burn(it->wakeup_cost_ns);
	it->now = clock_ns();
	if (n > 0) {
		counter_add(&it->stats.wakeups, 1);
		return hand_out(it, ev, n);
	}
	if (!n)
		it->policy.late_ns = wait_late_learn(it->policy.late_ns, ns, it->now - start);
	return false;
}

/* Whether one of those that are not polled, and not left to epoll either, has work */
static bool others_have_work(struct iothread *it)
{
	return it->nr_awake > it->nr_polled && leave_to_epoll(it);
}

/* Poll, then sleep, until a source has work. */
static void wait_for_work(struct iothread *it)
{
	bool polls = it->nr_polled && it->policy.window_ns;
	bool hit = false, found;

	if (unlikely(it->policy.deaf && polls)) {
		hit = poll_phase(it);
		found = others_have_work(it);
	} else {
		found = others_have_work(it);
		if (!found && polls && it->policy.sleep_ns) {
			found = arm_polled(it);
			if (!found && nap(it))
				return;
		}
		hit = !found && polls && poll_phase(it);
	}

	if (hit) {
		if (looks_due(it))
			look(it);
	} else if (found || arm_polled(it)) {
		it->now = clock_ns();
		if (looks_due(it))
			look(it);
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
			zone_start_polling(it, s);
	}
	if (it->nr_polled != before)
		iothread_polled_changed(it);
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
	for (unsigned int i = 0; i < it->nr_ready; i++) {
		struct event_source *s = it->ready[i];

		if (unlikely(!s))
			continue;
		s->ready = false;
		s->active_ns = it->now;
		if (unlikely(s->index >= it->nr_hot && s->index < it->nr_polled))
			zone_heat(it, s);
		disarm(s);
		s->ops->dispatch(s);
	}
	it->nr_ready = 0;
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

static void do_work(struct iothread *it)
{
	dispatch_ready(it);
	iothread_run_deferred(it);
}

/* Wait for work, then do it. */
static void turn(struct iothread *it)
{
	struct poll_policy *p = &it->policy;
	struct hist *waits = &it->stats.waits_ns[it->in_flight > 0];
	uint64_t start;

	counter_add(&it->stats.turns, 1);
	if (p->clocked)
		it->now = clock_ns();
	start = it->now;
	if (p->begins) {
		p->ops->begin(p, it->in_flight);
		show_window(it);
	}
	if (p->idle_ns && it->now >= it->idle_ns)
		drop_idle(it);

	wait_for_work(it);

	if (it->nr_awake > it->nr_polled && p->ops->joins)
		admit(it);
	if (p->clocked)
		hist_add(waits, it->now - start);
	if (p->learns)
		learn(it, it->now - start);
	if (unlikely(!--it->untimed))
		iothread_time_work(it, do_work);
	else
		do_work(it);
}

/**
 * iothread_loop - serve an iothread's sources until it->stop is set
 * @it: the iothread; called in it
 */
void iothread_loop(struct iothread *it)
{
	iothread_count_polling(it);
	while (!it->stop)
		turn(it);
}
