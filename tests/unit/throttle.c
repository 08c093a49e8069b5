/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/backend/device-model.c: what a device that can be saturated makes of arrivals */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "targets/backend/device-model.h"

#define SECOND	1000000000ull
#define US	1000ull

static struct throttle *c;
static uint64_t start;

static void open_with(struct throttle_config config)
{
	c = throttle_new(&config);
	assert_non_null(c);
	start = c->start_ns;
}

static int close_it(void **state)
{
	(void)state;
	throttle_free(c);
	return 0;
}

/* A request that comes at @at is done at @due, both counted from the start */
static void expect(uint64_t at, uint64_t service, uint64_t len, uint64_t due)
{
	assert_true(throttle_due(c, start + at, service, len) - start == due);
}

static void test_iops(void **state)
{
	(void)state;
	open_with((struct throttle_config) { .iops = 1000000 });
	for (uint64_t i = 0; i < 100; i++)
		expect(0, 0, 4096, i * US);
	/* an idle device saves nothing up */
	expect(SECOND, 0, 4096, SECOND);
	expect(SECOND, 0, 4096, SECOND + US);
}

/* 3 million a second: 333.33 ns each, and a second for all of them */
static void test_iops_do_not_drift(void **state)
{
	uint64_t due = 0;

	(void)state;
	open_with((struct throttle_config) { .iops = 3000000 });
	for (unsigned int i = 0; i <= 3000000; i++)
		due = throttle_due(c, start, 0, 0) - start;
	assert_in_range(due, SECOND - SECOND / 500000, SECOND);
}

static void test_bandwidth(void **state)
{
	(void)state;
	open_with((struct throttle_config) { .bandwidth = SECOND });
	expect(0, 0, 4096, 4096);
	expect(0, 0, 65536, 4096 + 65536);
	expect(0, 0, 0, 4096 + 65536);
	/* the bus is free again before the service time is over */
	expect(SECOND, 20 * US, 512, SECOND + 20 * US + 512);
}

static void test_parallel(void **state)
{
	(void)state;
	open_with((struct throttle_config) { .parallel = 2 });
	expect(0, 10 * US, 0, 10 * US);
	expect(0, 30 * US, 0, 30 * US);
	expect(0, 10 * US, 0, 20 * US);
	expect(0, 10 * US, 0, 30 * US);
	expect(35 * US, 10 * US, 0, 45 * US);
}

/* Against the plain way of doing the same: look through all channels */
static void test_parallel_is_any_number(void **state)
{
	static uint64_t free_at[7];
	struct rng r;
	uint64_t now = 0;

	(void)state;
	rng_seed(&r, 1);
	open_with((struct throttle_config) { .parallel = 7 });
	for (unsigned int i = 0; i < 7; i++)
		free_at[i] = 0;
	for (unsigned int i = 0; i < 10000; i++) {
		uint64_t service = rng_below(&r, 20 * US), begin;
		unsigned int first = 0;

		now += rng_below(&r, 3 * US);
		for (unsigned int j = 1; j < 7; j++)
			if (free_at[j] < free_at[first])
				first = j;
		begin = free_at[first] > now ? free_at[first] : now;
		free_at[first] = begin + service;
		expect(now, service, 0, free_at[first]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_iops, close_it),
		cmocka_unit_test_teardown(test_iops_do_not_drift, close_it),
		cmocka_unit_test_teardown(test_bandwidth, close_it),
		cmocka_unit_test_teardown(test_parallel, close_it),
		cmocka_unit_test_teardown(test_parallel_is_any_number, close_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
