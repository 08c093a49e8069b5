/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/iothread/deadline.c: order, removal, and waking a sleeping thread in time */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "targets/iothread/deadline.h"

#define MANY	1000
#define MS	1000000ull

struct item {
	struct deadline d;	/* first, as what is due is handed back by it */
	unsigned int expired;
};

static struct item item[MANY];
static struct deadlines ds;
static uint64_t last_due;
static unsigned int expired_count;

static void expired(struct deadlines *set, struct deadline *d)
{
	assert_ptr_equal(set, &ds);
	assert_true(d->due_ns >= last_due);
	assert_true(d->due_ns <= clock_ns());
	last_due = d->due_ns;
	((struct item *)d)->expired++;
	expired_count++;
}

static int set_up(void **state)
{
	(void)state;
	memset(item, 0, sizeof(item));
	last_due = 0;
	expired_count = 0;
	if (deadlines_init(&ds, expired))
		return -1;
	return deadlines_reserve(&ds, MANY);
}

static int tear_down(void **state)
{
	(void)state;
	deadlines_destroy(&ds);
	return 0;
}

static void add(unsigned int i, uint64_t due_ns)
{
	item[i].d.due_ns = due_ns;
	deadline_add(&ds, &item[i].d);
}

static void dispatch(void)
{
	ds.source.ops->dispatch(&ds.source);
}

static void test_order_of_a_thousand(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	/* all past; times repeat, as they do when many are taken in one batch */
	for (unsigned int i = 0; i < MANY; i++)
		add(i, 1 + rng_below(&r, 300));
	dispatch();
	assert_int_equal(expired_count, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(item[i].expired, 1);
	dispatch();
	assert_int_equal(expired_count, MANY);
}

static void test_only_what_is_due(void **state)
{
	uint64_t later = clock_ns() + 3600 * 1000 * MS;

	(void)state;
	for (unsigned int i = 0; i < MANY; i++)
		add(i, i % 3 ? later + i : i + 1);
	assert_true(ds.source.ops->poll(&ds.source, 0));
	dispatch();
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(item[i].expired, i % 3 == 0);
	assert_false(ds.source.ops->poll(&ds.source, 0));
	/* the loop's own clock, where it has one */
	assert_false(ds.source.ops->poll(&ds.source, later));
	assert_true(ds.source.ops->poll(&ds.source, later + 1));
}

static void test_removal(void **state)
{
	struct rng r;
	bool in[MANY] = { false };
	unsigned int pending = 0;

	(void)state;
	rng_seed(&r, 2);
	for (unsigned int round = 0; round < 20000; round++) {
		unsigned int i = rng_below(&r, MANY);

		if (in[i])
			deadline_remove(&ds, &item[i].d);
		else
			add(i, 1 + rng_below(&r, 100000));
		pending += in[i] ? -1 : 1;
		in[i] = !in[i];
	}
	dispatch();
	assert_int_equal(expired_count, pending);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(item[i].expired, in[i]);
}

/* Sleep as an iothread would; returns when the timer woke us, 0 for not in time */
static uint64_t sleep_until_timer(int timeout_ms)
{
	struct pollfd p = { .fd = ds.source.fd, .events = POLLIN };

	assert_false(ds.source.ops->arm(&ds.source));
	return poll(&p, 1, timeout_ms) == 1 ? clock_ns() : 0;
}

static void test_timer(void **state)
{
	uint64_t due = clock_ns() + 20 * MS;

	(void)state;
	add(0, due + 3600 * 1000 * MS);
	assert_int_equal(sleep_until_timer(0), 0);
	/* a nearer one moves the timer */
	add(1, due);
	assert_true(sleep_until_timer(5000) >= due);
	dispatch();
	assert_int_equal(item[1].expired, 1);
	assert_int_equal(item[0].expired, 0);
	/* back to the far one */
	assert_int_equal(sleep_until_timer(10), 0);
	/* past already when the thread goes to sleep: wakes at once */
	add(2, due);
	assert_true(sleep_until_timer(1000) > 0);
}

static sem_t done;

static void expired_in_thread(struct deadlines *set, struct deadline *d)
{
	expired(set, d);
	if (expired_count == MANY)
		sem_post(&done);
}

static void add_in_thread(void *arg)
{
	uint64_t now = clock_ns();

	(void)arg;
	assert_int_equal(deadlines_reserve(&ds, MANY), 0);
	for (unsigned int i = 0; i < MANY; i++)
		add(i, now + (i * 7919 % MANY) * 20000);
}

static void add_source(void *arg)
{
	assert_int_equal(iothread_add_source(arg, &ds.source), 0);
}

static void remove_source(void *arg)
{
	iothread_remove_source(arg, &ds.source);
}

/* Twenty milliseconds of deadlines, one each 20 us, under each policy */
static void run_in_iothread(enum poll_mode mode)
{
	const struct poll_config config = {
		.mode = mode, .max_ns = 32768, .start_rate = 1, .stop_idle_ns = MS,
	};
	struct iothread it;
	struct poll_policy policy;
	cpu_set_t any;

	CPU_ZERO(&any);
	ds.expired = expired_in_thread;
	sem_init(&done, 0, 0);
	poll_policy_init(&policy, &config);
	assert_int_equal(iothread_start(&it, 0, &any, &policy), 0);
	iothread_call(&it, add_source, &it);
	iothread_call(&it, add_in_thread, NULL);
	while (sem_wait(&done) && errno == EINTR)
		;
	iothread_call(&it, remove_source, &it);
	assert_int_equal(ds.nr, 0);
	iothread_stop(&it);
	sem_destroy(&done);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(item[i].expired, 1);
}

static void test_every_policy(void **state)
{
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		if (mode != POLL_OFF) {
			tear_down(state);
			assert_int_equal(set_up(state), 0);
		}
		run_in_iothread(mode);
	}
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order_of_a_thousand),
		TEST(test_only_what_is_due),
		TEST(test_removal),
		TEST(test_timer),
		TEST(test_every_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
