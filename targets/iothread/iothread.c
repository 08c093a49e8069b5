/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "base/parse.h"
#include "targets/iothread/iothread.h"

#define EVENTS_MAX	64

/* What is deferred meanwhile comes in the same go. */
static void run_deferred(struct iothread *it)
{
	struct deferred *d;

	while ((d = it->deferred)) {
		it->deferred = d->next;
		d->queued = false;
		d->fn(d);
	}
}

/* Calls from other threads: the one source that every iothread has. */

static struct iothread *wake_to_iothread(struct event_source *s)
{
	return (struct iothread *)((char *)s - offsetof(struct iothread, wake));
}

static bool wake_poll(struct event_source *s, uint64_t now)
{
	(void)now;
	/* pairs with the release in iothread_call(); what it announces is read in wake_dispatch() */
	return atomic_load_explicit(&wake_to_iothread(s)->call_pending, memory_order_acquire);
}

static bool wake_arm(struct event_source *s)
{
	/* The eventfd stays written, so a call made before this is not missed. */
	return wake_poll(s, 0);
}

static void wake_disarm(struct event_source *s)
{
	(void)s;
}

static void wake_dispatch(struct event_source *s)
{
	struct iothread *it = wake_to_iothread(s);

	if (!wake_poll(s, 0))
		return;
	it->call_fn(it->call_arg);
	/* The caller may free what this concerns as soon as it goes on. */
	run_deferred(it);
	/* The next caller waits for call_done, which orders this store before its own. */
	atomic_store_explicit(&it->call_pending, false, memory_order_relaxed);
	sem_post(&it->call_done);
}

static const struct event_source_ops wake_ops = {
	.poll = wake_poll,
	.arm = wake_arm,
	.disarm = wake_disarm,
	.dispatch = wake_dispatch,
};

static void disarm(struct event_source *s)
{
	if (s->armed) {
		s->armed = false;
		s->ops->disarm(s);
	}
}

/* One pass over the sources. */
static bool poll_sources(struct iothread *it, uint64_t now)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_sources; i++) {
		struct event_source *s = it->source[i];

		if (s->ops->poll(s, now)) {
			s->ready = true;
			found = true;
		}
	}
	return found;
}

/* Poll until work is found or the window is over; the clock is read at each pass, as QEMU does. */
static bool poll_phase(struct iothread *it, uint64_t start, uint64_t window)
{
	uint64_t now = start;

	for (unsigned int i = 0; i < it->nr_sources; i++)
		disarm(it->source[i]);

	if (window == POLL_FOREVER) {
		while (!poll_sources(it, 0))
			cpu_relax();
		return true;
	}

	for (;;) {
		bool found = poll_sources(it, now);

		now = clock_ns();
		if (found || now - start >= window) {
			counter_add(&it->stats.poll_ns, now - start);
			counter_add(found ? &it->stats.poll_hits : &it->stats.poll_misses, 1);
			return found;
		}
		cpu_relax();
	}
}

/* Notifications on everywhere, and one last look behind each, or a racing kick would be lost. */
static bool arm_sources(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_sources; i++) {
		struct event_source *s = it->source[i];

		if (s->armed)
			continue;
		s->armed = true;
		if (s->ops->arm(s)) {
			s->ready = true;
			found = true;
		}
	}
	return found;
}

static void sleep_phase(struct iothread *it)
{
	struct epoll_event ev[EVENTS_MAX];
	int n;

	if (arm_sources(it))
		return;

	counter_add(&it->stats.sleeps, 1);
	/* io_uring interrupts the thread to have it do its part; what that brought is there then. */
	do {
		n = epoll_wait(it->epoll_fd, ev, EVENTS_MAX, -1);
	} while (n < 0 && errno == EINTR);
	for (int i = 0; i < n; i++) {
		struct event_source *s = ev[i].data.ptr;

		s->ready = true;
		s->events = ev[i].events;
		if (s->ops->woken)
			s->ops->woken(s);
	}
	if (n > 0)
		counter_add(&it->stats.wakeups, 1);
	if (it->wakeup_cost_ns)
		clock_burn(it->wakeup_cost_ns);
}

static void dispatch_ready(struct iothread *it)
{
	/* A handler may remove sources, its own or another: see iothread_remove_source(). */
	for (unsigned int i = it->nr_sources; i-- > 0; ) {
		struct event_source *s = i < it->nr_sources ? it->source[i] : NULL;

		if (s && s->ready) {
			s->ready = false;
			disarm(s);
			s->ops->dispatch(s);
		}
	}
}

static void learn(struct iothread *it, uint64_t waited_ns)
{
	uint64_t window;

	poll_policy_waited(&it->policy, waited_ns);
	window = poll_policy_window(&it->policy);
	counter_set(&it->stats.window_now, window);
	if (window < counter_get(&it->stats.window_min))
		counter_set(&it->stats.window_min, window);
	if (window > counter_get(&it->stats.window_max))
		counter_set(&it->stats.window_max, window);
}

static void turn(struct iothread *it)
{
	uint64_t window = poll_policy_window(&it->policy);
	bool adapts = poll_policy_adapts(&it->policy);
	uint64_t start = 0;

	counter_add(&it->stats.turns, 1);
	if (adapts || (window && window != POLL_FOREVER))
		start = clock_ns();
	if (!window || !poll_phase(it, start, window))
		sleep_phase(it);
	if (adapts)
		learn(it, clock_ns() - start);
	dispatch_ready(it);
	run_deferred(it);
}

static void *iothread_main(void *arg)
{
	struct iothread *it = arg;

	pthread_setname_np(pthread_self(), it->name);
	/* The default slack of 50 us would be added to any timed sleep of this thread. */
	prctl(PR_SET_TIMERSLACK, 1);
	counter_set(&it->stats.tid, syscall(SYS_gettid));
	while (!it->stop)
		turn(it);
	return NULL;
}

/* The thread itself: pinned from its first instruction, or not at all. */
static int start_thread(struct iothread *it)
{
	char cpus[256] = "";
	pthread_attr_t attr;
	int ret = 0;

	pthread_attr_init(&attr);
	if (CPU_COUNT(&it->cpus))
		ret = -pthread_attr_setaffinity_np(&attr, sizeof(it->cpus), &it->cpus);
	if (!ret)
		ret = -pthread_create(&it->thread, &attr, iothread_main, it);
	pthread_attr_destroy(&attr);
	if (ret) {
		format_cpu_list(&it->cpus, cpus, sizeof(cpus));
		fprintf(stderr, "%s: cannot start on CPUs '%s': %s\n", it->name, cpus,
			strerror(-ret));
	}
	return ret;
}

/**
 * iothread_start - start an iothread
 * @it: filled in; must stay where it is
 * @index: names the thread iothread@index
 * @cpus: CPUs to run on; an empty set for any
 * @policy: its poll policy, copied
 *
 * Return: 0 or a negative errno, reported.
 */
int iothread_start(struct iothread *it, unsigned int index, const cpu_set_t *cpus,
		   const struct poll_policy *policy)
{
	int ret;

	memset(it, 0, sizeof(*it));
	snprintf(it->name, sizeof(it->name), "iothread%u", index);
	it->index = index;
	it->cpus = *cpus;
	it->policy = *policy;
	counter_set(&it->stats.window_now, policy->window.ns);
	counter_set(&it->stats.window_min, policy->window.ns);
	counter_set(&it->stats.window_max, policy->window.ns);
	pthread_mutex_init(&it->call_lock, NULL);
	sem_init(&it->call_done, 0, 0);
	it->wake = (struct event_source) { .ops = &wake_ops, .fd = -1 };
	it->source = calloc(IOTHREAD_SOURCES, sizeof(*it->source));
	it->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	it->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!it->source || it->epoll_fd < 0 || it->wake.fd < 0) {
		ret = -errno;
		fprintf(stderr, "%s: cannot make its event loop: %s\n", it->name, strerror(-ret));
		goto err;
	}
	ret = iothread_add_source(it, &it->wake);
	if (ret)
		goto err;
	ret = start_thread(it);
	if (!ret)
		return 0;
err:
	if (it->wake.fd >= 0)
		close(it->wake.fd);
	if (it->epoll_fd >= 0)
		close(it->epoll_fd);
	free(it->source);
	return ret;
}

static void set_stop(void *arg)
{
	struct iothread *it = arg;

	it->stop = true;
}

/**
 * iothread_stop - end an iothread that has no sources left
 * @it: the iothread
 */
void iothread_stop(struct iothread *it)
{
	iothread_call(it, set_stop, it);
	pthread_join(it->thread, NULL);
	close(it->wake.fd);
	close(it->epoll_fd);
	free(it->source);
	sem_destroy(&it->call_done);
	pthread_mutex_destroy(&it->call_lock);
}

/**
 * iothread_call - run a function in an iothread and wait until it has run
 * @it: the iothread; never the calling one
 * @fn: the function, between two turns of the loop
 * @arg: its argument
 */
void iothread_call(struct iothread *it, void (*fn)(void *arg), void *arg)
{
	uint64_t one = 1;

	pthread_mutex_lock(&it->call_lock);
	it->call_fn = fn;
	it->call_arg = arg;
	/* pairs with the acquire in wake_poll() */
	atomic_store_explicit(&it->call_pending, true, memory_order_release);
	while (write(it->wake.fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	while (sem_wait(&it->call_done) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&it->call_lock);
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * 1000000000ull + tv->tv_usec * 1000ull;
}

static void sample_cpu(void *arg)
{
	struct iothread_stats *s = arg;
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	counter_set(&s->user_ns, timeval_ns(&ru.ru_utime));
	counter_set(&s->system_ns, timeval_ns(&ru.ru_stime));
	counter_set(&s->voluntary, ru.ru_nvcsw);
	counter_set(&s->involuntary, ru.ru_nivcsw);
}

/**
 * iothread_sample_cpu - bring the CPU time and switches in its stats up to date
 * @it: the iothread
 */
void iothread_sample_cpu(struct iothread *it)
{
	iothread_call(it, sample_cpu, &it->stats);
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
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = s };

	if (it->nr_sources == IOTHREAD_SOURCES)
		return -ENOSPC;
	if (s->fd >= 0 && epoll_ctl(it->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev))
		return -errno;
	s->armed = false;
	s->ready = false;
	it->source[it->nr_sources++] = s;
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

	epoll_ctl(it->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev);
}

/**
 * iothread_remove_source - stop serving a source
 * @it: the iothread; called in it
 * @s: the source; its fd is the caller's to close
 *
 * The last source takes its place. dispatch_ready() walks downwards, so that one has
 * been served in this turn already.
 */
void iothread_remove_source(struct iothread *it, struct event_source *s)
{
	if (s->fd >= 0)
		epoll_ctl(it->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	for (unsigned int i = 0; i < it->nr_sources; i++) {
		if (it->source[i] == s) {
			it->source[i] = it->source[--it->nr_sources];
			return;
		}
	}
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
