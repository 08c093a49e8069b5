/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/iothread/: no work is lost or kept waiting, and who is polled, under every policy */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "targets/iothread/iothread.h"

#define US	UINT64_C(1000)
#define MS	UINT64_C(1000000)
#define FAKES	16

/* A source that other threads give work to, as a driver does: posted, and a kick if wanted */
struct fake {
	struct event_source source;
	atomic_uint posted;
	atomic_uint taken;
	atomic_uint polls;
	atomic_bool kicks_on;
	bool always;			/* there is always more to do */
	atomic_uint kicks;		/* that its handler has sent itself */
	void (*hook)(struct fake *f);	/* part of its handler */
};

static struct fake fake[FAKES];
static struct iothread it;

/* seq_cst throughout: posted and kicks_on are the two sides of a store-buffering race. */
static bool has_work(struct fake *f)
{
	return f->always || atomic_load(&f->posted) != atomic_load(&f->taken);
}

static bool fake_poll(struct event_source *s, uint64_t now)
{
	struct fake *f = (struct fake *)s;

	(void)now;
	atomic_fetch_add(&f->polls, 1);
	return has_work(f);
}

static bool fake_arm(struct event_source *s)
{
	struct fake *f = (struct fake *)s;

	atomic_store(&f->kicks_on, true);
	return has_work(f);
}

static void fake_disarm(struct event_source *s)
{
	atomic_store(&((struct fake *)s)->kicks_on, false);
}

static void fake_dispatch(struct event_source *s)
{
	struct fake *f = (struct fake *)s;

	atomic_store(&f->taken, atomic_load(&f->posted));
	if (f->hook)
		f->hook(f);
}

static const struct event_source_ops fake_ops = {
	.poll = fake_poll,
	.arm = fake_arm,
	.disarm = fake_disarm,
	.dispatch = fake_dispatch,
};

static const struct event_source_ops no_poll_handler_ops = {
	.poll = fake_poll,
	.arm = fake_arm,
	.disarm = fake_disarm,
	.dispatch = fake_dispatch,
	.no_poll_handler = true,
};

static void post(struct fake *f)
{
	uint64_t one = 1;

	atomic_fetch_add(&f->posted, 1);
	if (atomic_load(&f->kicks_on))
		assert_int_equal(write(f->source.fd, &one, sizeof(one)), sizeof(one));
}

static bool served_within(struct fake *f, uint64_t ns)
{
	uint64_t until = clock_ns() + ns;

	while (atomic_load(&f->posted) != atomic_load(&f->taken)) {
		if (clock_ns() > until)
			return false;
		usleep(100);
	}
	return true;
}

static void add(void *arg)
{
	assert_int_equal(iothread_add_source(&it, arg), 0);
}

static void drop(void *arg)
{
	if (((struct event_source *)arg)->it)
		iothread_remove_source(&it, arg);
}

/* @idle_ns in place of a policy's own seven seconds */
static void start(const struct poll_config *config, uint64_t idle_ns, unsigned int nr)
{
	struct poll_policy policy;
	cpu_set_t any;

	CPU_ZERO(&any);
	poll_policy_init(&policy, config);
	if (policy.idle_ns && idle_ns)
		policy.idle_ns = idle_ns;
	assert_int_equal(iothread_start(&it, 0, &any, &policy), 0);
	for (unsigned int i = 0; i < nr; i++) {
		fake[i] = (struct fake) { .source = { .ops = &fake_ops } };
		fake[i].source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		assert_true(fake[i].source.fd >= 0);
	}
}

static void add_all(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		iothread_call(&it, add, &fake[i].source);
}

static void stop(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		iothread_call(&it, drop, &fake[i].source);
	iothread_stop(&it);
	for (unsigned int i = 0; i < nr; i++)
		close(fake[i].source.fd);
}

static struct poll_config config_of(int mode)
{
	return (struct poll_config) {
		.mode = mode, .max_ns = 32768, .start_rate = 1, .stop_idle_ns = 2 * MS,
	};
}

static void pause_for(uint64_t ns)
{
	uint64_t until = clock_ns() + ns;

	while (clock_ns() < until)
		cpu_relax();
}

/* Work at random times, so that it often races with the thread's going to sleep */
static void test_nothing_is_lost(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		const struct poll_config config = config_of(mode);

		start(&config, 5 * MS, 8);
		add_all(8);
		for (unsigned int i = 0; i < 2000; i++) {
			post(&fake[rng_below(&r, i % 200 < 100 ? 8 : 2)]);
			pause_for(rng_below(&r, 60 * US));
		}
		for (unsigned int i = 0; i < 8; i++) {
			if (!served_within(&fake[i], 5000 * MS))
				fail_msg("policy %d: work of source %u was never done", mode, i);
		}
		stop(8);
	}
}

/* One that always has work keeps nobody else from theirs, polled or not. */
static void test_nobody_starves(void **state)
{
	(void)state;
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		struct poll_config config = config_of(mode);

		/* a factor that keeps adaptive windows at 0: all waits are short, and it never grows */
		config.max_ns = mode == POLL_ADAPTIVE ? 1 : config.max_ns;
		start(&config, 0, 3);
		fake[0].always = true;
		fake[2].source.ops = &no_poll_handler_ops;
		add_all(3);
		for (unsigned int i = 0; i < 20; i++) {
			struct fake *f = &fake[1 + i % 2];

			post(f);
			if (!served_within(f, 5000 * MS))
				fail_msg("policy %d: source %u waits for ever", mode, 1 + i % 2);
		}
		stop(3);
	}
}

static void test_not_one_pass(void **state)
{
	(void)state;
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		struct poll_config config = config_of(mode);

		if (mode == POLL_BUSY)
			continue;
		config.max_ns = 0;
		start(&config, 0, 4);
		add_all(4);
		for (unsigned int i = 0; i < 100; i++) {
			post(&fake[i % 4]);
			assert_true(served_within(&fake[i % 4], 5000 * MS));
		}
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(atomic_load(&fake[i].polls), 0);
		stop(4);
	}
}

/* A source that has never had work is not polled, one that had is, until it was idle for long. */
static void test_idle_sources_leave(void **state)
{
	static const int modes[] = { POLL_PER_SOURCE, POLL_WEIGHTED, POLL_RATE };

	(void)state;
	for (unsigned int m = 0; m < 3; m++) {
		const struct poll_config config = config_of(modes[m]);
		unsigned int polls;

		start(&config, 50 * MS, 3);
		fake[0].always = true;
		add_all(3);
		post(&fake[1]);
		assert_true(served_within(&fake[1], 5000 * MS));
		/* The busy one makes sure that the thread polls. */
		usleep(300000);
		polls = atomic_load(&fake[1].polls);
		assert_true(polls > 0);
		assert_int_equal(atomic_load(&fake[2].polls), 0);
		usleep(50000);
		assert_int_equal(atomic_load(&fake[1].polls), polls);
		/* Its next work brings it back. */
		post(&fake[1]);
		assert_true(served_within(&fake[1], 5000 * MS));
		usleep(10000);
		assert_true(atomic_load(&fake[1].polls) > polls);
		stop(3);
	}
}

/* With nothing to do for long enough, the rate policy's thread sleeps. */
static void test_rate_ends(void **state)
{
	const struct poll_config config = config_of(POLL_RATE);
	unsigned int polls;

	(void)state;
	start(&config, 0, 1);
	add_all(1);
	post(&fake[0]);
	assert_true(served_within(&fake[0], 5000 * MS));
	usleep(100000);
	polls = atomic_load(&fake[0].polls);
	assert_true(polls > 0);
	usleep(50000);
	assert_int_equal(atomic_load(&fake[0].polls), polls);
	assert_int_equal(counter_get(&it.stats.window_now), 0);
	assert_true(counter_get(&it.stats.window_max) == POLL_FOREVER);
	stop(1);
}

/* How long a call takes that is made while the thread polls for @window_ns */
static uint64_t call_takes(int mode, uint64_t window_ns)
{
	const struct poll_config config = { .mode = mode, .max_ns = window_ns };
	uint64_t begin, took;

	start(&config, 0, 1);
	add_all(1);
	usleep(window_ns / 10 / US);
	begin = clock_ns();
	iothread_call(&it, drop, &(struct event_source) { .it = NULL });
	took = clock_ns() - begin;
	stop(1);
	return took;
}

/*
 * Calls wait for the end of the first version's window; the second answers while it polls. On a
 * loaded machine either may look like the other now and then.
 */
static void test_calls_are_no_poll_handler(void **state)
{
	bool waits = false, answers = false;

	(void)state;
	for (unsigned int i = 0; i < 20 && !(waits && answers); i++) {
		waits |= call_takes(POLL_FIXED_1024, 200 * MS) > 100 * MS;
		answers |= call_takes(POLL_FIXED, 200 * MS) < 100 * MS;
	}
	assert_true(waits);
	assert_true(answers);
}

/* What is put off has work all the time, and the window is polled to its end all the same, or to a hit. */
static void test_windows_come_first(void **state)
{
	const struct poll_config config = { .mode = POLL_FIXED_1024, .max_ns = MS };

	(void)state;
	start(&config, 0, 2);
	fake[1].always = true;
	fake[1].source.ops = &no_poll_handler_ops;
	add_all(2);
	for (unsigned int i = 0; i < 20; i++) {
		post(&fake[0]);
		assert_true(served_within(&fake[0], 5000 * MS));
	}
	assert_true(atomic_load(&fake[0].polls) > 0);
	assert_true(counter_get(&it.stats.poll_hits) > 0);
	usleep(20000);
	assert_true(counter_get(&it.stats.poll_misses) > 0);
	/* Each turn that was left to what is put off has cost a window. */
	iothread_sample(&it);
	assert_true(counter_get(&it.stats.turns) <= counter_get(&it.stats.poll_hits) +
						    counter_get(&it.stats.poll_misses) + 8);
	stop(2);
}

static uint64_t cpu_ns(void)
{
	iothread_sample(&it);
	return counter_get(&it.stats.user_ns) + counter_get(&it.stats.system_ns);
}

#define KICKS	50

/* A driver kicks while its request is being handled: the next wait for events ends at once. */
static void kick_again(struct fake *f)
{
	uint64_t one = 1;

	if (atomic_fetch_add(&f->kicks, 1) + 1 < KICKS)
		assert_int_equal(write(f->source.fd, &one, sizeof(one)), sizeof(one));
}

static void make_wakeups_cost(void *arg)
{
	(void)arg;
	it.wakeup_cost_ns = 20 * MS;
}

/* A wait that ends at once is not a sleep, and costs no wake-up. */
static void test_waits_and_sleeps(void **state)
{
	const struct poll_config config = config_of(POLL_OFF);
	uint64_t before, begin, waits, sleeps;

	(void)state;
	start(&config, 0, 1);
	fake[0].hook = kick_again;
	add_all(1);
	usleep(20000);
	before = cpu_ns();
	iothread_call(&it, make_wakeups_cost, NULL);
	waits = counter_get(&it.stats.waits);
	sleeps = counter_get(&it.stats.sleeps);
	atomic_store(&fake[0].kicks, 0);
	post(&fake[0]);
	for (begin = clock_ns(); atomic_load(&fake[0].kicks) < KICKS; usleep(1000))
		assert_true(clock_ns() - begin < 30000 * MS);
	/* Woken for the post, and for a call or two. */
	assert_true(cpu_ns() - before < KICKS / 2 * 20 * MS);
	assert_true(counter_get(&it.stats.waits) - waits >= KICKS);
	assert_true(counter_get(&it.stats.sleeps) - sleeps < KICKS / 2);
	stop(1);
}

/* A thread that polls for ever tells how long, and how often it found work. */
static void test_busy_figures(void **state)
{
	const struct poll_config config = config_of(POLL_BUSY);
	uint64_t begin = clock_ns(), polled;

	(void)state;
	start(&config, 0, 1);
	add_all(1);
	for (unsigned int i = 0; i < 20; i++) {
		post(&fake[0]);
		assert_true(served_within(&fake[0], 5000 * MS));
	}
	usleep(20000);
	iothread_sample(&it);
	polled = counter_get(&it.stats.poll_ns);
	/* By the wall clock, as whoever has the CPU meanwhile has it in this thread's polling. */
	assert_true(polled >= 20 * MS);
	assert_true(polled <= clock_ns() - begin);
	assert_true(counter_get(&it.stats.poll_hits) >= 20);
	assert_int_equal(counter_get(&it.stats.waits), 0);
	assert_int_equal(counter_get(&it.stats.sleeps), 0);
	stop(1);
}

/* How many descriptors an epoll instance watches */
static unsigned int watched(int epoll_fd)
{
	char path[64], line[256];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll_fd);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += !strncmp(line, "tfd:", 4);
	fclose(f);
	return n;
}

/* Who writes to a socket that is watched pays for it, so busy watches nothing. */
static void test_busy_watches_nothing(void **state)
{
	const struct poll_config busy = config_of(POLL_BUSY), off = config_of(POLL_OFF);

	(void)state;
	start(&busy, 0, 3);
	add_all(3);
	assert_int_equal(watched(it.epoll_fd), 0);
	stop(3);
	start(&off, 0, 3);
	add_all(3);
	/* and what is called for */
	assert_int_equal(watched(it.epoll_fd), 4);
	stop(3);
}

static struct rng hook_rng;

/* A handler that takes another source away and puts one back, or itself */
static void shuffle(struct fake *f)
{
	struct event_source *a = &fake[rng_below(&hook_rng, FAKES)].source;
	struct event_source *b = &fake[rng_below(&hook_rng, FAKES)].source;

	(void)f;
	if (a->it)
		iothread_remove_source(&it, a);
	if (!b->it)
		assert_int_equal(iothread_add_source(&it, b), 0);
}

static void add_missing(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < FAKES; i++) {
		fake[i].hook = NULL;
		if (!fake[i].source.it)
			assert_int_equal(iothread_add_source(&it, &fake[i].source), 0);
	}
}

/* A source that comes back is looked at, so work posted while it was away is done. */
static void test_handlers_move_sources(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&hook_rng, 3);
	rng_seed(&r, 4);
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		const struct poll_config config = config_of(mode);

		start(&config, MS, FAKES);
		for (unsigned int i = 0; i < FAKES; i++)
			fake[i].hook = shuffle;
		add_all(FAKES);
		for (unsigned int i = 0; i < 3000; i++) {
			post(&fake[rng_below(&r, FAKES)]);
			pause_for(rng_below(&r, 20 * US));
		}
		iothread_call(&it, add_missing, NULL);
		for (unsigned int i = 0; i < FAKES; i++) {
			if (!served_within(&fake[i], 5000 * MS))
				fail_msg("policy %d: work of source %u was never done", mode, i);
		}
		stop(FAKES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_nobody_starves),
		cmocka_unit_test(test_not_one_pass),
		cmocka_unit_test(test_idle_sources_leave),
		cmocka_unit_test(test_rate_ends),
		cmocka_unit_test(test_calls_are_no_poll_handler),
		cmocka_unit_test(test_windows_come_first),
		cmocka_unit_test(test_waits_and_sleeps),
		cmocka_unit_test(test_busy_figures),
		cmocka_unit_test(test_busy_watches_nothing),
		cmocka_unit_test(test_handlers_move_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
