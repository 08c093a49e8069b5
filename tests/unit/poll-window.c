/* SPDX-License-Identifier: GPL-2.0-only */
/* base/poll-window.c: QEMU's rule, step by step; engines/glue/backoff.h: when a driver gives it up */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/poll-window.h"
#include "engines/glue/backoff.h"

#define MAX	32768

/* One wait after another, and the window each must lead to */
struct step {
	uint64_t waited_ns;
	uint64_t window_ns;
};

static void walk(struct poll_window w, const struct step *steps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		poll_window_update(&w, steps[i].waited_ns);
		if (w.ns != steps[i].window_ns)
			fail_msg("step %u, a wait of %llu ns: window %llu, not %llu", i,
				 (unsigned long long)steps[i].waited_ns, (unsigned long long)w.ns,
				 (unsigned long long)steps[i].window_ns);
	}
}

#define WALK(window, ...) \
	do { \
		static const struct step steps[] = { __VA_ARGS__ }; \
		walk(window, steps, sizeof(steps) / sizeof(steps[0])); \
	} while (0)

static void test_growth(void **state)
{
	(void)state;
	/* 0, then 4 us, then doubling, up to the maximum and no further */
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2 }),
	     { 20000, 4000 }, { 20000, 8000 }, { 20000, 16000 }, { 20000, 32000 },
	     { 32500, MAX }, { 32700, MAX }, { 1, MAX });
	/* the factor, and 0 for QEMU's own */
	WALK(((struct poll_window) { .max_ns = 1000000, .grow = 3 }),
	     { 500000, 4000 }, { 500000, 12000 }, { 500000, 36000 });
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 0 }),
	     { 20000, 4000 }, { 20000, 8000 });
	/* a huge factor ends at the maximum */
	WALK(((struct poll_window) { .max_ns = 10000000000, .grow = UINT32_MAX }),
	     { 5000000, 4000 }, { 5000000, 10000000000 });
	WALK(((struct poll_window) { .max_ns = 10000000000, .grow = UINT32_MAX, .ns = 9000000000 }),
	     { 9500000000, 10000000000 });
	/* a step that just fits, and one that just does not */
	WALK(((struct poll_window) { .max_ns = 8001, .ns = 4000 }), { 5000, 8000 });
	WALK(((struct poll_window) { .max_ns = 8001, .ns = 4001 }), { 5000, 8001 });
}

static void test_within_the_window(void **state)
{
	(void)state;
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2, .ns = 8000 }),
	     { 0, 8000 }, { 7999, 8000 }, { 8000, 8000 }, { 8001, 16000 });
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2 }), { 0, 0 }, { 1, 4000 });
}

static void test_shrink(void **state)
{
	(void)state;
	/* 0 means back to nothing, which is QEMU's default */
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2, .ns = 16000 }),
	     { MAX + 1, 0 }, { 20000, 4000 });
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2, .shrink = 2, .ns = 16000 }),
	     { 100000, 8000 }, { 100000, 4000 }, { 100000, 2000 }, { 3000, 4000 });
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2, .shrink = 100, .ns = 50 }),
	     { 100000, 0 });
}

static void test_at_the_maximum(void **state)
{
	(void)state;
	WALK(((struct poll_window) { .max_ns = MAX, .grow = 2, .ns = 8000 }),
	     { MAX - 1, 16000 }, { MAX, 16000 }, { MAX + 1, 0 });
}

static void test_small_maximum(void **state)
{
	(void)state;
	WALK(((struct poll_window) { .max_ns = 1000, .grow = 2 }),
	     { 500, 1000 }, { 900, 1000 }, { 1001, 0 }, { 1000, 0 }, { 999, 1000 });
	/* 0 turns polling off for good */
	WALK(((struct poll_window) { .max_ns = 0, .grow = 2 }), { 1, 0 }, { 0, 0 }, { 100000, 0 });
}

/* Waits that begin with polling, of the next @n, each in vain or not. */
static unsigned int polled(struct backoff *v, unsigned int n, bool found)
{
	unsigned int polls = 0;

	while (n--) {
		if (backoff_skips(v))
			continue;
		backoff_note(v, found);
		polls++;
	}
	return polls;
}

/* Polling in vain is given up for longer and longer, and taken up again by a single success. */
static void test_vain(void **state)
{
	struct backoff v = { 0 };

	(void)state;
	assert_int_equal(polled(&v, 1000, true), 1000);
	assert_int_equal(polled(&v, BACKOFF_MISSES + BACKOFF_SKIP_MIN, false), BACKOFF_MISSES);
	assert_int_equal(polled(&v, BACKOFF_MISSES + 2 * BACKOFF_SKIP_MIN, false), BACKOFF_MISSES);
	assert_int_equal(polled(&v, 1, true), 1);
	assert_int_equal(polled(&v, BACKOFF_MISSES + BACKOFF_SKIP_MIN, false), BACKOFF_MISSES);
	/* never for good */
	polled(&v, 100 * BACKOFF_SKIP_MAX, false);
	assert_in_range(polled(&v, BACKOFF_SKIP_MAX + BACKOFF_MISSES, false), 1, BACKOFF_MISSES);
	/* a miss now and then does not count */
	v = (struct backoff) { 0 };
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(polled(&v, BACKOFF_MISSES - 1, false) + polled(&v, 1, true), BACKOFF_MISSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_within_the_window),
		cmocka_unit_test(test_shrink),
		cmocka_unit_test(test_at_the_maximum),
		cmocka_unit_test(test_small_maximum),
		cmocka_unit_test(test_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
