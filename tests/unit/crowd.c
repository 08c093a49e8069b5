/* SPDX-License-Identifier: GPL-2.0-only */
/* base/crowd.c: when a polling thread sleeps where others want its CPU, by a clock that the test sets */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/crowd.h"

#define US	UINT64_C(1000)
#define MS	UINT64_C(1000000)

static uint64_t now_ns;
static uint64_t yield_ns;	/* how long others run when they may */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = ns_timespec(now_ns);
	return 0;
}

int sched_yield(void)
{
	now_ns += yield_ns;
	return 0;
}

/* Others want the CPU, as a look at the kernel's figures would have found just now. */
static struct crowd crowded(void)
{
	now_ns = 1000 * MS;
	yield_ns = 0;
	return (struct crowd) { .crowded = true, .checked_ns = now_ns };
}

/* A wait that lasts for @ns: for how long it is polled, in us; a look every us */
static unsigned int wait_for(struct crowd *c, uint64_t ns, bool may_rest)
{
	uint64_t start = now_ns;

	crowd_begin(c);
	for (; now_ns < start + ns; now_ns += US) {
		c->checked_ns = now_ns;
		if (crowd_look(c, now_ns, may_rest))
			break;
	}
	return (unsigned int)((now_ns - start) / US);
}

static void test_long_wait(void **state)
{
	struct crowd c = crowded();

	(void)state;
	assert_int_equal(wait_for(&c, 10 * US, true), 10);
	assert_false(c.resting);
	assert_int_equal(wait_for(&c, 100 * US, true), 20);
	assert_true(c.resting);
	assert_int_equal(c.yields, 31);
	/* The next ones are slept in from the beginning, for a millisecond. */
	assert_int_equal(wait_for(&c, 100 * US, true), 0);
	now_ns += MS;
	assert_int_equal(wait_for(&c, 10 * US, true), 10);
}

/* So many that the first yield takes as long: what was waited for may be there, but it was late. */
static void test_many_others(void **state)
{
	struct crowd c = crowded();

	(void)state;
	yield_ns = 25 * US;
	crowd_begin(&c);
	assert_true(crowd_look(&c, now_ns, true));
	assert_int_equal(c.yields, 1);
	assert_true(c.resting);
}

/* Of all time, ever less goes into finding out whether it still has to sleep. */
static void test_rests_grow(void **state)
{
	struct crowd c = crowded();
	uint64_t start = now_ns, polled = 0;

	(void)state;
	while (now_ns - start < 10000 * MS) {
		polled += wait_for(&c, 100 * US, true) * US;
		now_ns += 100 * US;
	}
	assert_true(polled < (now_ns - start) / 1000);
	assert_true(c.rest_ns <= 80 * MS);
}

static void test_rests_shrink(void **state)
{
	struct crowd c = crowded();

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		wait_for(&c, 100 * US, true);
		now_ns += 100 * MS;
	}
	assert_int_equal(c.rest_ns, 80 * MS);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(wait_for(&c, 5 * US, true), 5);
	assert_int_equal(wait_for(&c, 100 * US, true), 20);
	assert_int_equal(c.rest_ns, MS);
}

/* Without leave to sleep it yields. */
static void test_must_poll(void **state)
{
	struct crowd c = crowded();

	(void)state;
	assert_int_equal(wait_for(&c, 1000 * US, false), 1000);
	assert_int_equal(c.yields, 1000);
	assert_int_equal(c.rests, 0);
}

/* With the CPU to itself it does neither. */
static void test_alone(void **state)
{
	struct crowd c = crowded();

	(void)state;
	c.crowded = false;
	assert_int_equal(wait_for(&c, 5000 * US, true), 5000);
	assert_int_equal(c.yields + c.rests, 0);
}

/* Nobody of an ordinary policy runs before it sleeps, which it does after a millisecond. */
static void test_realtime(void **state)
{
	struct crowd c = crowded();

	(void)state;
	c.crowded = false;
	c.realtime = true;
	assert_int_equal(wait_for(&c, 5000 * US, true), 1000);
	assert_int_equal(c.yields, 0);
	assert_int_equal(wait_for(&c, 100 * US, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_wait),
		cmocka_unit_test(test_many_others),
		cmocka_unit_test(test_rests_grow),
		cmocka_unit_test(test_rests_shrink),
		cmocka_unit_test(test_must_poll),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_realtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
