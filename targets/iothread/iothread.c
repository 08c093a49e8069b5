/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <limits.h>
#include <sched.h>
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
#include "base/container.h"
#include "base/cpu.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/parse.h"
#include "targets/iothread/zones.h"
#include "targets/options.h"

#define LIST_OPS(name, what, mode, ops)	[mode] = &ops,
static const struct poll_policy_ops *const policies[] = { POLL_POLICIES(LIST_OPS) };
#undef LIST_OPS

#define LIST_NAME(name, what, mode, ops)	[mode] = name,
const char *const poll_names[] = { POLL_POLICIES(LIST_NAME) NULL };
#undef LIST_NAME

/**
 * poll_policy_init - set a policy up
 * @p: the policy
 * @config: which one, and its settings
 */
void poll_policy_init(struct poll_policy *p, const struct poll_config *config)
{
	/* With no window there is nothing to learn and nobody to poll. */
	bool off = !config->max_ns && config->mode != POLL_BUSY;

	*p = (struct poll_policy) {
		.ops = off ? &poll_off : policies[config->mode],
		.config = *config,
		.clock_every = 1,
	};
	p->begins = p->ops->begin;
	p->learns = p->ops->learn;
	if (p->ops->init)
		p->ops->init(p);
}

/* Its sources, and what of their descriptors wakes it */

/* A thread that never sleeps needs no epoll, which a socket's sender would have to pay for. */
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
	zone_put(it, it->nr_sources, s);
	zone_exchange(it, it->nr_sources++, it->nr_awake++);
	if (policy->at_once && policy->at_once(s))
		zone_start_polling(it, s);
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
 * A handler may remove any source, its own or another that is ready.
 */
void iothread_remove_source(struct iothread *it, struct event_source *s)
{
	unsigned int polled = it->nr_polled;

	if (s->fd >= 0 && watches(it))
		epoll_ctl(it->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	for (unsigned int i = 0; s->ready && i < it->nr_ready; i++) {
		if (it->ready[i] == s)
			it->ready[i] = NULL;
	}
	if (s->index < it->nr_polled)
		zone_stop_polling(it, s);
	if (s->index < it->nr_awake)
		zone_exchange(it, s->index, --it->nr_awake);
	zone_exchange(it, s->index, --it->nr_sources);
	s->it = NULL;
	if (it->nr_polled != polled)
		iothread_polled_changed(it);
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
		zone_wake(s->it, s);
}

/* Calls from other threads: the one source that every iothread has. */

static struct iothread *wake_to_iothread(struct event_source *s)
{
	return container_of(s, struct iothread, wake);
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
	iothread_run_deferred(it);
	/* The next caller waits for call_done, which orders this store before its own. */
	atomic_store_explicit(&it->call_pending, false, memory_order_relaxed);
	sem_post(&it->call_done);
}

static const struct event_source_ops wake_ops = {
	.poll = wake_poll,
	.arm = wake_arm,
	.disarm = wake_disarm,
	.dispatch = wake_dispatch,
	.no_poll_handler = true,
};

static uint64_t switches_so_far(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

static void *iothread_main(void *arg)
{
	struct iothread *it = arg;

	pthread_setname_np(pthread_self(), it->name);
	/* The default slack of 50 us would be added to any timed sleep of this thread. */
	prctl(PR_SET_TIMERSLACK, 1);
	counter_set(&it->stats.tid, syscall(SYS_gettid));
	it->first_switches = switches_so_far();
	iothread_loop(it);
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
		options_error(NULL, NULL, "%s: cannot start on CPUs '%s': %s", it->name, cpus,
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
	counter_set(&it->stats.window_now, policy->window_ns);
	counter_set(&it->stats.window_min, policy->window_ns);
	counter_set(&it->stats.window_max, policy->window_ns);
	it->unclocked = policy->clock_every;
	it->untimed = UINT_MAX;
	pthread_mutex_init(&it->call_lock, NULL);
	sem_init(&it->call_done, 0, 0);
	it->wake = (struct event_source) { .ops = &wake_ops, .fd = -1 };
	signaller_init(&it->signaller);
	it->source = calloc(2 * IOTHREAD_SOURCES, sizeof(*it->source));
	it->ready = it->source + IOTHREAD_SOURCES;
	it->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	it->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!it->source || it->epoll_fd < 0 || it->wake.fd < 0) {
		ret = -errno;
		options_error(NULL, NULL, "%s: cannot make its event loop: %s", it->name, strerror(-ret));
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
	signaller_destroy(&it->signaller);
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
	signaller_destroy(&it->signaller);
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
	pthread_mutex_lock(&it->call_lock);
	it->call_fn = fn;
	it->call_arg = arg;
	/* pairs with the acquire in wake_poll() */
	atomic_store_explicit(&it->call_pending, true, memory_order_release);
	eventfd_signal(it->wake.fd);
	while (sem_wait(&it->call_done) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&it->call_lock);
}

/*
 * The kernel alone knows which waits were sleeps, and tells only how often the thread slept, be
 * it for events or for a lock. Asking at each wait would cost a system call.
 */
static void sample_sleeps(struct iothread_stats *s, uint64_t switches)
{
	uint64_t waits = counter_get(&s->waits);

	counter_set(&s->sleeps, switches < waits ? switches : waits);
}

static void sample(void *arg)
{
	struct iothread *it = arg;
	struct iothread_stats *s = &it->stats;
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	counter_set(&s->user_ns, timeval_ns(&ru.ru_utime));
	counter_set(&s->system_ns, timeval_ns(&ru.ru_stime));
	counter_set(&s->voluntary, ru.ru_nvcsw);
	counter_set(&s->involuntary, ru.ru_nivcsw);
	sample_sleeps(s, ru.ru_nvcsw - it->first_switches);
	iothread_count_polling(it);
	for (unsigned int i = 0; i < it->nr_sources; i++) {
		if (it->source[i]->ops->sample)
			it->source[i]->ops->sample(it->source[i]);
	}
}

/**
 * iothread_sample - bring those figures up to date that are not counted as they arise
 * @it: the iothread
 */
void iothread_sample(struct iothread *it)
{
	iothread_call(it, sample, it);
}

/* The two counters are not of one instant, so the difference can be off by one below 0. */
static uint64_t suppressed_calls(const struct iothread_stats *s)
{
	uint64_t calls = counter_get(&s->calls), batches = counter_get(&s->batches);

	return batches > calls ? batches - calls : 0;
}

/* null for one without an end */
static void window(struct json *w, const char *key, const counter_t *c)
{
	if (counter_get(c) == POLL_FOREVER)
		json_str(w, key, NULL);
	else
		json_counter(w, key, c);
}

static void polling(struct json *w, const struct iothread_stats *s)
{
	json_counter(w, "turns", &s->turns);
	json_counter(w, "poll_ns", &s->poll_ns);
	json_counter(w, "poll_hits", &s->poll_hits);
	json_counter(w, "poll_misses", &s->poll_misses);
	json_counter(w, "yields", &s->yields);
	json_counter(w, "waits", &s->waits);
	json_counter(w, "wakeups", &s->wakeups);
	json_counter(w, "sleeps", &s->sleeps);

	json_open_object(w, "waits_ns");
	json_hist(w, "idle", &s->waits_ns[0]);
	json_hist(w, "in_flight", &s->waits_ns[1]);
	json_close_object(w);

	json_open_object(w, "window_ns");
	window(w, "now", &s->window_now);
	window(w, "min", &s->window_min);
	window(w, "max", &s->window_max);
	json_close_object(w);

	json_open_object(w, "source_window_ns");
	json_counter(w, "min", &s->source_window_min);
	json_counter(w, "max", &s->source_window_max);
	json_close_object(w);

	json_open_object(w, "notifications");
	json_counter(w, "received", &s->kicks);
	json_counter(w, "noticed", &s->noticed);
	json_counter(w, "sent", &s->calls);
	json_u64(w, "suppressed", suppressed_calls(s));
	json_close_object(w);
}

/**
 * iothread_stats_json - write an iothread's own figures
 * @w: the writer, inside an object
 * @it: the iothread; it may go on counting meanwhile
 */
void iothread_stats_json(struct json *w, const struct iothread *it)
{
	const struct iothread_stats *s = &it->stats;
	char cpus[256] = "";

	format_cpu_list(&it->cpus, cpus, sizeof(cpus));
	json_str(w, "name", it->name);
	json_counter(w, "tid", &s->tid);
	json_str(w, "cpus", *cpus ? cpus : NULL);
	polling(w, s);

	json_open_object(w, "cpu");
	json_counter(w, "user_ns", &s->user_ns);
	json_counter(w, "system_ns", &s->system_ns);
	json_close_object(w);

	json_open_object(w, "switches");
	json_counter(w, "voluntary", &s->voluntary);
	json_counter(w, "involuntary", &s->involuntary);
	json_close_object(w);
}
