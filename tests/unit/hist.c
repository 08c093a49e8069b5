/* SPDX-License-Identifier: GPL-2.0-only */
/* base/hist.h: every value falls into the bucket that says it holds it */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hist.h"
#include "base/rng.h"

#define LIMIT	(UINT64_C(1) << 40)

static void check_bucket(uint64_t v)
{
	unsigned int i = hist_index(v);
	uint64_t lo, hi;

	assert_true(i < HIST_BUCKETS);
	lo = hist_lo(i);
	hi = hist_lo(i + 1);
	if (v < lo || v >= hi)
		fail_msg("%ju is in bucket %u, [%ju, %ju)", (uintmax_t)v, i,
			 (uintmax_t)lo, (uintmax_t)hi);
	/* no wider than a sixteenth of what it holds */
	assert_true(hi - lo == 1 || (hi - lo) * 16 <= lo);
}

static void test_every_bucket(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		assert_true(hist_lo(i) < hist_lo(i + 1));
		assert_int_equal(hist_index(hist_lo(i)), i);
		assert_int_equal(hist_index(hist_lo(i + 1) - 1), i);
		check_bucket(hist_lo(i));
	}
	assert_true(hist_lo(0) == 0);
	assert_true(hist_lo(HIST_BUCKETS) == LIMIT);
}

static void test_values(void **state)
{
	struct rng r;

	(void)state;
	for (uint64_t v = 0; v < 5000; v++)
		check_bucket(v);

	rng_seed(&r, 1);
	for (int i = 0; i < 100000; i++)
		check_bucket(rng_u64(&r) >> 24 >> rng_below(&r, 40));
}

static void test_too_large(void **state)
{
	(void)state;
	assert_int_equal(hist_index(LIMIT - 1), HIST_BUCKETS - 1);
	assert_int_equal(hist_index(LIMIT), HIST_BUCKETS - 1);
	assert_int_equal(hist_index(UINT64_MAX), HIST_BUCKETS - 1);
}

#define ADDS	200000

static struct hist shared;

static void *count_up(void *arg)
{
	for (unsigned int i = 0; i < ADDS; i++)
		hist_add(&shared, i % 100);
	return arg;
}

static uint64_t total(const struct hist *h)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		sum += hist_count(h, i);
	return sum;
}

/* Built with the thread sanitizer, this also shows that reading is no race */
static void test_read_while_counting(void **state)
{
	pthread_t thread;
	uint64_t last = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, count_up, NULL), 0);
	for (int i = 0; i < 200; i++) {
		uint64_t now = total(&shared);

		assert_true(now >= last && now <= ADDS);
		last = now;
	}
	pthread_join(thread, NULL);
	assert_int_equal(total(&shared), ADDS);
	assert_int_equal(hist_count(&shared, hist_index(7)), ADDS / 100);
	/* 96 to 99 share two buckets of two */
	assert_int_equal(hist_count(&shared, hist_index(97)), ADDS / 100 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bucket),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_read_while_counting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
