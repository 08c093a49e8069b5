/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets/pool/: every way of waking workers and of hearing from them does all work once,
 * whatever happens to the pool
 */

#include <unistd.h>

#include "tests/unit/pool-fixture.h"

static void test_names(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; wakeup_list[i]; i++)
		assert_non_null(wakeup_names[i]);
	assert_true(i >= 9);
	assert_null(wakeup_names[i]);
	assert_ptr_equal(wakeup_list[3], &cond_unlocked_wakeup);
	assert_string_equal(wakeup_names[3], "cond-unlocked");
}

static const char *name_of(const struct wakeup_ops *wakeup)
{
	unsigned int i = 0;

	while (wakeup_list[i] != wakeup)
		i++;
	return wakeup_names[i];
}

/* A lost wake-up never comes: no worker's idle time ends within the test. */
static void try_one(const struct pool_config *config, enum poll_mode mode)
{
	struct load one = { .items = 40, .depth = 1, .run = run_item };
	struct load many = { .items = 300, .depth = DEPTH, .run = run_item };
	unsigned int runs, dones;

	start(config, mode);
	for (unsigned int round = 0; round < 2; round++) {
		iothread_call(&it, submit_load, round ? &many : &one);
		if (!wait_finished())
			fail_msg("%s, queue %d, completion %d, poll %d: round %u hangs",
				 name_of(config->wakeup), config->queue, config->completion, mode,
				 round);
	}
	runs = total(&dones);
	assert_int_equal(runs, one.items + many.items);
	assert_int_equal(dones, runs);
	assert_int_equal(requests(), runs);
	stop();
}

static void try_all(enum poll_mode mode)
{
	for (unsigned int n = 0; wakeup_list[n / 8]; n++) {
		struct pool_config config = {
			.min_threads = n % 3,
			.max_threads = 2,
			.wakeup = wakeup_list[n / 8],
			.queue = n / 4 % 2,
			.completion = n % 4,
			.idle_ns = HOUR,
		};

		try_one(&config, mode);
	}
}

static void test_all_asleep(void **state)
{
	(void)state;
	try_all(POLL_OFF);
}

static void test_all_polled(void **state)
{
	(void)state;
	try_all(POLL_BUSY);
}

static void test_windows(void **state)
{
	static const enum poll_mode modes[] = { POLL_FIXED, POLL_ADAPTIVE };

	(void)state;
	for (unsigned int n = 0; n < 8; n++) {
		struct pool_config config = {
			.max_threads = 2,
			.wakeup = &cond_unlocked_wakeup,
			.completion = n % 4,
			.idle_ns = HOUR,
		};

		try_one(&config, modes[n / 4]);
	}
}

static void run_slowly(struct pool_work *w)
{
	usleep(1000);
	run_item(w);
}

static void submit_and_stop(void *arg)
{
	submit_load(arg);
	pool_stop(&pool);
}

/* What was submitted is done before the pool is gone, threads or no threads. */
static void test_stop_in_flight(void **state)
{
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_slowly };
	unsigned int runs, dones;

	(void)state;
	for (unsigned int n = 0; wakeup_list[n / 8]; n++) {
		struct pool_config config = {
			.min_threads = 2,
			.max_threads = 2,
			.wakeup = wakeup_list[n / 8],
			.queue = n / 4 % 2,
			.completion = n % 4,
		};

		start(&config, POLL_OFF);
		iothread_call(&it, submit_and_stop, &all);
		runs = total(&dones);
		stop_iothread();
		assert_int_equal(runs, DEPTH);
		assert_int_equal(dones, DEPTH);
	}
}

static void run_anywhere(struct pool_work *w)
{
	atomic_fetch_add(&((struct item *)w)->runs, 1);
}

/* The threads have only been asked for when it is stopped. */
static void test_stop_without_threads(void **state)
{
	struct load all = { .items = DEPTH, .depth = DEPTH, .run = run_anywhere };
	struct pool_config config = { .max_threads = 4, .wakeup = &sem_wakeup };
	unsigned int runs, dones;

	(void)state;
	for (config.queue = 0; config.queue < 2; config.queue++) {
		start(&config, POLL_OFF);
		iothread_call(&it, submit_and_stop, &all);
		runs = total(&dones);
		stop_iothread();
		assert_int_equal(runs, DEPTH);
		assert_int_equal(dones, DEPTH);
	}
}

/* A thread can run on no CPU that does not exist, so there will be none. */
static void test_no_thread_to_be_had(void **state)
{
	struct load all = { .items = 3 * DEPTH, .depth = DEPTH, .run = run_anywhere };
	struct pool_config config = { .max_threads = 4, .wakeup = &sem_wakeup };
	unsigned int runs, dones;

	(void)state;
	CPU_SET(CPU_SETSIZE - 1, &config.cpus);
	for (config.queue = 0; config.queue < 2; config.queue++) {
		start(&config, POLL_OFF);
		iothread_call(&it, submit_load, &all);
		assert_true(wait_finished());
		runs = total(&dones);
		assert_int_equal(runs, 3 * DEPTH);
		assert_int_equal(dones, runs);
		assert_int_equal(starts(), 0);
		stop();
	}

	config.min_threads = 1;
	start_iothread(POLL_OFF, -1);
	iothread_call(&it, start_in_iothread, &config);
	/* refused, with nothing left behind */
	assert_int_equal(atomic_exchange(&strange, 0), 1);
	stop_iothread();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_all_asleep),
		cmocka_unit_test(test_all_polled),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_stop_in_flight),
		cmocka_unit_test(test_stop_without_threads),
		cmocka_unit_test(test_no_thread_to_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
