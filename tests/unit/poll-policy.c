/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The poll policies on a simulated clock: waits of given lengths, ended by given sources, and
 * the window after each step. What a window must be is written down here a second time, from
 * the sources that docs/poll-policies.md names: as figures worked out by hand, and as a
 * model that long random runs are held against.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/rng.h"
#include "targets/iothread/iothread.h"

#define MAX	32768
#define SOURCES	4

/* What the loop would keep for a policy: a clock, the sources, and which of them are polled */
struct sim {
	struct poll_policy p;
	struct event_source source[SOURCES];
	struct event_source *polled[SOURCES];
	unsigned int nr;
	uint64_t now;
	unsigned int in_flight;
};

static void sim_init(struct sim *s, const struct poll_config *config)
{
	*s = (struct sim) { .now = 1000000000 };
	poll_policy_init(&s->p, config);
}

static bool is_polled(const struct sim *s, unsigned int i)
{
	for (unsigned int n = 0; n < s->nr; n++) {
		if (s->polled[n] == &s->source[i])
			return true;
	}
	return false;
}

static void changed(struct sim *s)
{
	if (s->p.ops->changed)
		s->p.ops->changed(&s->p, s->polled, s->nr);
}

/* A wait is over: the sources in @ready, one bit each, have work. */
static void wait_ends(struct sim *s, uint64_t waited_ns, unsigned int ready)
{
	if (s->p.ops->begin)
		s->p.ops->begin(&s->p, s->in_flight);
	s->now += waited_ns;
	for (unsigned int i = 0; i < SOURCES; i++) {
		s->source[i].ready = ready & 1u << i;
		if (s->source[i].ready && !is_polled(s, i) && s->p.ops->joins &&
		    s->p.ops->joins(&s->p, &s->source[i], s->now)) {
			s->polled[s->nr++] = &s->source[i];
			changed(s);
		}
	}
	if (s->p.ops->learn)
		s->p.ops->learn(&s->p, s->polled, s->nr, waited_ns);
}

static void stop_polling(struct sim *s, unsigned int i)
{
	for (unsigned int n = 0; n < s->nr; n++) {
		if (s->polled[n] == &s->source[i]) {
			s->polled[n] = s->polled[--s->nr];
			changed(s);
			return;
		}
	}
}

/* One step of a script: who ends a wait of what length, and the window after it */
struct step {
	uint64_t waited_ns;
	unsigned int ready;
	uint64_t window_ns;
};

static void play(const struct poll_config *config, const struct step *steps, unsigned int n)
{
	struct sim s;

	sim_init(&s, config);
	for (unsigned int i = 0; i < n; i++) {
		wait_ends(&s, steps[i].waited_ns, steps[i].ready);
		if (s.p.window_ns != steps[i].window_ns)
			fail_msg("step %u, a wait of %llu ns: window %llu, not %llu", i,
				 (unsigned long long)steps[i].waited_ns,
				 (unsigned long long)s.p.window_ns,
				 (unsigned long long)steps[i].window_ns);
	}
}

#define PLAY(config, ...) \
	do { \
		static const struct step steps[] = { __VA_ARGS__ }; \
		play(&(config), steps, sizeof(steps) / sizeof(steps[0])); \
	} while (0)

/* A wait of a length that policies find interesting: around nothing, the window, the limit */
static uint64_t some_wait(struct rng *r, uint64_t window_ns)
{
	switch (rng_below(r, 6)) {
	case 0:
		return rng_below(r, 100);
	case 1:
		return window_ns + rng_below(r, 3) - (window_ns ? 1 : 0);
	case 2:
		return MAX - 1 + rng_below(r, 3);
	case 3:
		return MAX + rng_below(r, 100000);
	default:
		return rng_below(r, MAX);
	}
}

static void test_constant(void **state)
{
	const struct poll_config off = { .mode = POLL_OFF, .max_ns = MAX };
	const struct poll_config busy = { .mode = POLL_BUSY };
	const struct poll_config fixed = { .mode = POLL_FIXED, .max_ns = MAX };
	const struct poll_config fixed_1024 = { .mode = POLL_FIXED_1024, .max_ns = MAX };

	(void)state;
	PLAY(off, { 100, 1, 0 }, { 20000, 3, 0 }, { 100000, 1, 0 });
	PLAY(busy, { 100, 1, POLL_FOREVER }, { 100000, 1, POLL_FOREVER });
	PLAY(fixed, { 100, 1, MAX }, { 20000, 3, MAX }, { 100000, 1, MAX });
	PLAY(fixed_1024, { 100, 1, MAX }, { 20000, 3, MAX }, { 100000, 1, MAX });
}

/* 0 is not one pass: whatever happens, no source is polled and no window opens. */
static void test_no_polling(void **state)
{
	(void)state;
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		const struct poll_config config = {
			.mode = mode, .start_rate = 1, .stop_idle_ns = 1000000,
		};
		struct sim s;

		if (mode == POLL_BUSY)
			continue;
		sim_init(&s, &config);
		assert_null(s.p.ops->at_once);
		for (unsigned int i = 0; i < 100; i++) {
			wait_ends(&s, i * 10, 1 + i % 15);
			assert_int_equal(s.p.window_ns, 0);
			assert_int_equal(s.nr, 0);
		}
	}
}

static void test_who_is_polled_at_once(void **state)
{
	static const struct event_source_ops device = { .no_poll_handler = false };
	static const struct event_source_ops call = { .no_poll_handler = true };
	static const bool at_once[][2] = {
		[POLL_OFF] = { false, false }, [POLL_BUSY] = { true, true },
		[POLL_FIXED] = { true, true }, [POLL_ADAPTIVE] = { true, true },
		[POLL_FIXED_1024] = { true, false }, [POLL_PER_SOURCE] = { false, false },
		[POLL_WEIGHTED] = { false, false }, [POLL_RATE] = { false, false },
		[POLL_INFLIGHT] = { true, true }, [POLL_HYBRID] = { true, true },
	};

	(void)state;
	for (size_t mode = 0; mode < sizeof(at_once) / sizeof(at_once[0]); mode++) {
		for (int i = 0; i < 2; i++) {
			struct event_source s = { .ops = i ? &call : &device };
			struct poll_policy p;

			poll_policy_init(&p, &(struct poll_config) { .mode = mode, .max_ns = MAX });
			assert_int_equal(p.ops->at_once && p.ops->at_once(&s), at_once[mode][i]);
		}
	}
}

/* aio_poll() of QEMU 9: whoever ends the wait, the thread's window learns from it */
static void test_adaptive(void **state)
{
	const struct poll_config config = { .mode = POLL_ADAPTIVE, .max_ns = MAX, .grow = 2 };

	(void)state;
	PLAY(config,
	     { 20000, 1, 4000 }, { 20000, 2, 8000 }, { 8000, 1, 8000 }, { 8001, 4, 16000 },
	     { 32000, 1, 32000 }, { 32767, 1, MAX }, { MAX, 1, MAX }, { MAX + 1, 2, 0 });
}

/* adjust_polling_time() of QEMU, in its own words: the model that windows are held against */
static int64_t qemu_adjusted(int64_t ns, int64_t block_ns, int64_t max, int64_t grow, int64_t shrink)
{
	if (block_ns > ns && block_ns > max)
		return shrink ? ns / shrink : 0;
	if (block_ns > ns && block_ns < max && ns < max) {
		int64_t longer = ns == 0 ? 4000 : ns * (grow ? grow : 2);

		return longer > max ? max : longer;
	}
	return ns;
}

static void test_adaptive_long(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	for (unsigned int shrink = 0; shrink < 4; shrink++) {
		const struct poll_config config = {
			.mode = POLL_ADAPTIVE, .max_ns = MAX, .grow = shrink, .shrink = shrink,
		};
		int64_t ns = 0;
		struct sim s;

		/* A factor of 1 grows nothing; the options refuse it. */
		if (shrink == 1)
			continue;
		sim_init(&s, &config);
		for (unsigned int i = 0; i < 5000; i++) {
			uint64_t wait = some_wait(&r, ns);

			wait_ends(&s, wait, 1 + rng_below(&r, 15));
			ns = qemu_adjusted(ns, wait, MAX, shrink, shrink);
			assert_int_equal(s.p.window_ns, ns);
		}
	}
}

/* One fast and one slow source: the slow one spoils only its own window. */
static void test_per_source(void **state)
{
	const struct poll_config config = { .mode = POLL_PER_SOURCE, .max_ns = MAX, .grow = 2 };

	(void)state;
	PLAY(config,
	     /* the fast one's becomes 4, 8, 16 us, beyond its waits of 10 us */
	     { 10000, 1, 4000 }, { 10000, 1, 8000 }, { 10000, 1, 16000 }, { 10000, 1, 16000 },
	     /* waits for the slow one are too long to poll; its window is 0 and stays so */
	     { 100000, 2, 16000 }, { 10000, 1, 16000 }, { 100000, 2, 16000 },
	     /* both at once: each learns from the same wait */
	     { 20000, 3, 32000 }, { 100000, 1, 4000 }, { 100000, 2, 0 });
}

/* What was polled and is no longer has no say, and still has its window when it comes back. */
static void test_per_source_leaves(void **state)
{
	const struct poll_config config = { .mode = POLL_PER_SOURCE, .max_ns = MAX };
	struct sim s;

	(void)state;
	sim_init(&s, &config);
	assert_int_equal(s.p.idle_ns, UINT64_C(7000000000));
	wait_ends(&s, 10000, 1);
	wait_ends(&s, 10000, 1);
	wait_ends(&s, 10000, 2);
	assert_int_equal(s.p.window_ns, 8000);
	assert_int_equal(s.p.source_min_ns, 4000);
	assert_int_equal(s.p.source_max_ns, 8000);
	stop_polling(&s, 0);
	assert_int_equal(s.p.window_ns, 4000);
	stop_polling(&s, 1);
	assert_int_equal(s.p.window_ns, 0);
	wait_ends(&s, 100, 1);
	assert_int_equal(s.p.window_ns, 8000);
}

static void test_per_source_long(void **state)
{
	const struct poll_config config = {
		.mode = POLL_PER_SOURCE, .max_ns = MAX, .grow = 3, .shrink = 2,
	};
	int64_t ns[SOURCES] = { 0 }, largest = 0;
	struct sim s;
	struct rng r;

	(void)state;
	rng_seed(&r, 2);
	sim_init(&s, &config);
	for (unsigned int n = 0; n < 20000; n++) {
		unsigned int ready = 1 + rng_below(&r, 15);
		uint64_t wait = some_wait(&r, largest);

		wait_ends(&s, wait, ready);
		largest = 0;
		for (unsigned int i = 0; i < SOURCES; i++) {
			if (ready & 1u << i)
				ns[i] = qemu_adjusted(ns[i], wait, MAX, 3, 2);
			if (ns[i] > largest)
				largest = ns[i];
		}
		assert_int_equal(s.p.window_ns, largest);
	}
}

static void test_weighted(void **state)
{
	const struct poll_config config = { .mode = POLL_WEIGHTED, .max_ns = MAX };
	const struct poll_config quick = { .mode = POLL_WEIGHTED, .max_ns = MAX, .weight = 1,
					   .grow = 4, .shrink = 4 };

	(void)state;
	PLAY(config,
	     /* the first interval counts whole: 8000, which is more than 0 x 2 */
	     { 8000, 1, 8000 },
	     /* 8000 - 1000 + 2000 = 9000, more than 8000, so the window doubles */
	     { 16000, 1, 16000 },
	     /* 9000 - 1125 + 0 = 7875, less than half of 16000 */
	     { 0, 1, 8000 },
	     /* 7875 - 984 + 0 = 6891: not less than half of 8000, so nothing changes */
	     { 0, 1, 8000 },
	     /* the second source: 30000 at once, and the window with it; the first is 36891: gone */
	     { 30000, 2, 30000 },
	     /* the first begins anew: 100, far below; the second ages to 30100 and has no say */
	     { 100, 1, 15000 },
	     /* 100 - 12 + 12 = 100: down a step each time, to 1, where 1 / 2 is no less than 100 */
	     { 100, 1, 7500 }, { 100, 1, 3750 }, { 100, 1, 1875 }, { 100, 1, 937 }, { 100, 1, 468 },
	     { 100, 1, 234 }, { 100, 1, 117 }, { 100, 1, 117 },
	     /* an interval of MAX is still in, one above it is forgotten */
	     { MAX, 4, MAX }, { MAX + 1, 8, 16384 });
	PLAY(quick,
	     /* 1000; then 1000 - 500 + 1500 = 2000: the window grows by 4 */
	     { 1000, 1, 1000 }, { 3000, 1, 4000 },
	     /* 2000 - 1000 + 0 = 1000 is not less than 4000 / 4; 500 is */
	     { 1, 1, 4000 }, { 1, 1, 1000 });
}

/* update_handler_poll_times() and what it calls, in QEMU's own words */
struct qemu_context {
	int64_t poll_ns, poll_max_ns, poll_grow, poll_shrink, poll_weight;
	int64_t handler[SOURCES];
	bool inserted[SOURCES];
};

static void qemu_update(struct qemu_context *ctx, int64_t block_ns, unsigned int events)
{
	int64_t max_ns = -1;

	for (unsigned int i = 0; i < SOURCES; i++) {
		int64_t *ns = &ctx->handler[i];

		ctx->inserted[i] |= (events >> i) & 1;
		if (!ctx->inserted[i])
			continue;
		if (events & 1u << i) {
			*ns = *ns ? (*ns - (*ns >> ctx->poll_weight)) + (block_ns >> ctx->poll_weight)
				  : block_ns;
			if (*ns > ctx->poll_max_ns)
				*ns = 0;
			max_ns = *ns > max_ns ? *ns : max_ns;
		} else if (*ns != 0) {
			*ns += block_ns;
			if (*ns > ctx->poll_max_ns)
				*ns = 0;
		}
	}
	if (max_ns < 0)
		return;
	if (max_ns > ctx->poll_ns) {
		int64_t grown = ctx->poll_ns * ctx->poll_grow;

		ctx->poll_ns = max_ns > grown ? max_ns : grown;
		if (ctx->poll_ns > ctx->poll_max_ns)
			ctx->poll_ns = ctx->poll_max_ns;
	} else if (max_ns < ctx->poll_ns / ctx->poll_shrink) {
		ctx->poll_ns /= ctx->poll_shrink;
	}
}

static void test_weighted_long(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (unsigned int weight = 0; weight < 6; weight++) {
		const struct poll_config config = {
			.mode = POLL_WEIGHTED, .max_ns = MAX, .weight = weight,
			.grow = weight > 1 ? weight : 0, .shrink = weight,
		};
		struct qemu_context ctx = {
			.poll_max_ns = MAX, .poll_grow = weight > 1 ? weight : 2,
			.poll_shrink = weight ? weight : 2, .poll_weight = weight ? weight : 3,
		};
		struct sim s;

		sim_init(&s, &config);
		for (unsigned int i = 0; i < 5000; i++) {
			uint64_t wait = some_wait(&r, ctx.poll_ns);
			unsigned int ready = rng_below(&r, 16);

			wait_ends(&s, wait, ready);
			qemu_update(&ctx, wait, ready);
			if (s.p.window_ns != (uint64_t)ctx.poll_ns)
				fail_msg("weight %u, step %u: window %llu, not %lld", weight, i,
					 (unsigned long long)s.p.window_ns, (long long)ctx.poll_ns);
		}
	}
}

/* vhost_worker(): so many notifications within one jiffy, not within any millisecond */
static void test_rate(void **state)
{
	const struct poll_config config = {
		.mode = POLL_RATE, .max_ns = MAX, .start_rate = 3, .stop_idle_ns = 5000,
	};
	struct sim s;

	(void)state;
	sim_init(&s, &config);
	assert_int_equal(s.p.idle_ns, 5000);
	assert_true(s.p.one_by_one);
	/* at 0.7, 1.4, 2.1 ms: each in another jiffy */
	for (unsigned int i = 0; i < 3; i++) {
		wait_ends(&s, 700000, 1);
		assert_int_equal(s.p.window_ns, 0);
	}
	/* 2.1 was the first of its jiffy, then 2.4 and 2.7, but by another source */
	wait_ends(&s, 300000, 2);
	wait_ends(&s, 300000, 2);
	assert_int_equal(s.p.window_ns, 0);
	/* 2.9: the third of the second source */
	wait_ends(&s, 200000, 2);
	assert_true(s.p.window_ns == POLL_FOREVER);
	assert_false(is_polled(&s, 0));
	/* 3.0, 3.1, 3.2: the first source too; one alone keeps the worker going */
	for (unsigned int i = 0; i < 3; i++)
		wait_ends(&s, 100000, 1);
	assert_true(is_polled(&s, 0));
	stop_polling(&s, 1);
	assert_true(s.p.window_ns == POLL_FOREVER);
	stop_polling(&s, 0);
	assert_int_equal(s.p.window_ns, 0);
	/* what was counted before is not lost within the jiffy */
	wait_ends(&s, 100000, 1);
	assert_true(s.p.window_ns == POLL_FOREVER);
}

static void test_rate_never(void **state)
{
	const struct poll_config config = {
		.mode = POLL_RATE, .max_ns = MAX, .start_rate = 0, .stop_idle_ns = 5000,
	};
	struct sim s;

	(void)state;
	sim_init(&s, &config);
	for (unsigned int i = 0; i < 1000; i++) {
		wait_ends(&s, 10, 1);
		assert_int_equal(s.p.window_ns, 0);
	}
}

static void test_inflight(void **state)
{
	const struct poll_config config = { .mode = POLL_INFLIGHT, .max_ns = 1 };
	struct sim s;

	(void)state;
	sim_init(&s, &config);
	for (unsigned int i = 0; i < 10; i++) {
		s.in_flight = i % 3;
		wait_ends(&s, 1000 * i, 1);
		assert_true(s.p.window_ns == (i % 3 ? POLL_FOREVER : 0));
		assert_int_equal(s.p.sleep_ns, 0);
	}
}

/* Waits from @least to @most ns, and what begins after them */
static void hybrid_waits(struct sim *s, struct rng *r, unsigned int n, uint64_t least, uint64_t most)
{
	for (unsigned int i = 0; i < n; i++)
		wait_ends(s, least + rng_below(r, most - least + 1), 1);
	s->p.ops->begin(&s->p, s->in_flight);
}

static void test_hybrid(void **state)
{
	const struct poll_config config = { .mode = POLL_HYBRID, .max_ns = MAX };
	uint64_t late;
	struct sim s;
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	sim_init(&s, &config);
	late = s.p.late_ns;
	/* Nothing is known yet: as fixed */
	hybrid_waits(&s, &r, 1, 50000, 50000);
	assert_int_equal(s.p.window_ns, MAX);
	assert_int_equal(s.p.sleep_ns, 0);
	/* A device of 50 us: asleep for most of it, awake when it is done */
	s.in_flight = 1;
	hybrid_waits(&s, &r, 200, 50000, 52000);
	assert_in_range(s.p.sleep_ns, 25000, 50000 - late);
	assert_in_range(s.p.sleep_ns + s.p.window_ns, 52000, 25000 + MAX);
	/* The driver's next request comes after 2 us; what the device takes has no say in that. */
	s.in_flight = 0;
	hybrid_waits(&s, &r, 2000, 1500, 2000);
	assert_int_equal(s.p.sleep_ns, 0);
	assert_in_range(s.p.window_ns, 2000, 4000);
	s.in_flight = 2;
	hybrid_waits(&s, &r, 1, 50000, 52000);
	assert_true(s.p.sleep_ns > 0);
	/* A faster device is noticed, and one whose times are anything is not polled. */
	hybrid_waits(&s, &r, 5000, 20000, 21000);
	assert_in_range(s.p.sleep_ns, 0, 20000 - late);
	hybrid_waits(&s, &r, 5000, 1000, 400000);
	assert_int_equal(s.p.window_ns, 0);
	assert_int_equal(s.p.sleep_ns, 0);
	/* Sleeps that end later begin to end earlier. */
	s.p.late_ns = 4 * late;
	hybrid_waits(&s, &r, 8000, 100000, 101000);
	assert_in_range(s.p.sleep_ns, 0, 100000 - 4 * late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_no_polling),
		cmocka_unit_test(test_who_is_polled_at_once),
		cmocka_unit_test(test_adaptive),
		cmocka_unit_test(test_adaptive_long),
		cmocka_unit_test(test_per_source),
		cmocka_unit_test(test_per_source_leaves),
		cmocka_unit_test(test_per_source_long),
		cmocka_unit_test(test_weighted),
		cmocka_unit_test(test_weighted_long),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_rate_never),
		cmocka_unit_test(test_inflight),
		cmocka_unit_test(test_hybrid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
