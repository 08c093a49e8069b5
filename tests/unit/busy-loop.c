/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets/iothread/busy.c: a thread that polls for ever looks at idle sources seldom, but within
 * so many passes and so much time of the others' work; those with work it serves at once
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/container.h"
#include "targets/iothread/iothread.h"

#define IDLE		400
#define LOOKS		2		/* COLD_LOOKS of busy.c */
#define PASSES		(2 * (IDLE + 1) / LOOKS)	/* two rounds, as calls make the source of calls hot */
#define PERIOD_NS	(IDLE * 256)	/* its COLD_EACH_NS for each */

struct fake {
	struct event_source source;
	uint64_t looked;	/* pass of the last look */
	unsigned int work;
	uint64_t served;	/* pass in which that was done */
	uint64_t again;		/* and of the first look after it */
};

static struct fake fake[1 + IDLE];
static struct iothread it;
static uint64_t passes;		/* looks at the first source, which is never idle */
static uint64_t looks;		/* at the others */
static uint64_t longest;	/* passes between two of these at the same source */
static uint64_t burn_ns;	/* its handler's time */

static bool fake_poll(struct event_source *s, uint64_t now)
{
	struct fake *f = container_of(s, struct fake, source);

	(void)now;
	if (f == fake) {
		passes++;
		return true;
	}
	looks++;
	if (passes - f->looked > longest)
		longest = passes - f->looked;
	f->looked = passes;
	if (f->served && !f->again)
		f->again = passes;
	return f->work;
}

static bool fake_arm(struct event_source *s)
{
	(void)s;
	return true;
}

static void fake_disarm(struct event_source *s)
{
	(void)s;
}

static void fake_dispatch(struct event_source *s)
{
	struct fake *f = container_of(s, struct fake, source);

	if (f == fake && burn_ns)
		clock_burn(burn_ns);
	if (f->work) {
		f->work--;
		f->served = passes;
	}
}

static const struct event_source_ops fake_ops = {
	.poll = fake_poll,
	.arm = fake_arm,
	.disarm = fake_disarm,
	.dispatch = fake_dispatch,
};

static void add_all(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < 1 + IDLE; i++) {
		fake[i] = (struct fake) { .source = { .ops = &fake_ops, .fd = -1 } };
		assert_int_equal(iothread_add_source(&it, &fake[i].source), 0);
	}
}

static void remove_all(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < 1 + IDLE; i++)
		iothread_remove_source(&it, &fake[i].source);
}

struct figures {
	uint64_t passes;
	uint64_t looks;
	uint64_t longest;
	uint64_t ns;
};

static void take(void *arg)
{
	/* Those that are never looked at again count as well. */
	for (unsigned int i = 1; i <= IDLE; i++)
		if (passes - fake[i].looked > longest)
			longest = passes - fake[i].looked;
	*(struct figures *)arg = (struct figures) { passes, looks, longest, clock_ns() };
}

static void forget(void *arg)
{
	take(arg);
	longest = 0;
	for (unsigned int i = 1; i <= IDLE; i++)
		fake[i].looked = passes;
}

/* Of the next @nr passes or more, once the idle sources are known to be idle */
static struct figures watch(uint64_t nr)
{
	struct figures from, to;

	do {
		iothread_call(&it, take, &from);
		usleep(1000);
		iothread_call(&it, take, &to);
	} while (!burn_ns && (to.looks - from.looks) / (to.passes - from.passes + 1) > IDLE / 2);
	iothread_call(&it, forget, &from);
	do {
		usleep(1000);
		iothread_call(&it, take, &to);
	} while (to.passes - from.passes < nr);
	return (struct figures) {
		to.passes - from.passes, to.looks - from.looks, to.longest, to.ns - from.ns,
	};
}

static int start(void **state)
{
	struct poll_policy policy;
	cpu_set_t any;

	(void)state;
	CPU_ZERO(&any);
	burn_ns = 0;
	poll_policy_init(&policy, &(struct poll_config) { .mode = POLL_BUSY });
	assert_int_equal(iothread_start(&it, 0, &any, &policy), 0);
	iothread_call(&it, add_all, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	iothread_call(&it, remove_all, NULL);
	iothread_stop(&it);
	return 0;
}

/* It would be 400 looks a pass. Periods add a round each, at most. */
static void test_passes(void **state)
{
	struct figures f;

	(void)state;
	f = watch(20000);
	assert_true(f.longest <= PASSES);
	assert_true(f.looks <= f.passes * LOOKS + (f.ns / PERIOD_NS + 2) * (IDLE + 1));
	assert_true(f.looks >= f.passes / PASSES * IDLE);
}

static void set_burn(void *arg)
{
	burn_ns = *(uint64_t *)arg;
}

/* Each turn is longer than a period, so each begins with a look at all that the last one left out. */
static void test_long_turns(void **state)
{
	uint64_t ns = PERIOD_NS;
	struct figures f;

	(void)state;
	iothread_call(&it, set_burn, &ns);
	f = watch(200);
	assert_true(f.longest <= 4);
}

static void give_work(void *arg)
{
	((struct fake *)arg)->work = 1;
}

struct look {
	struct fake *f;
	uint64_t passes;	/* from the work to the next look, 0 for not yet */
};

static void take_look(void *arg)
{
	struct look *l = arg;

	l->passes = l->f->again ? l->f->again - l->f->served : 0;
}

/* What had work is looked at in the next pass, unless others have had the CPU meanwhile. */
static void test_work(void **state)
{
	unsigned int nr = 0, at_once = 0;

	(void)state;
	for (unsigned int i = 1; i <= IDLE; i += 133) {
		struct look l = { .f = &fake[i] };

		watch(1);
		iothread_call(&it, give_work, l.f);
		while (!l.passes)
			iothread_call(&it, take_look, &l);
		nr++;
		at_once += l.passes == 1;
	}
	assert_true(at_once > nr / 2);
}

/* Sources come and go while others are idle: none is forgotten. */
static void come_and_go(void *arg)
{
	unsigned int i = *(unsigned int *)arg;

	iothread_remove_source(&it, &fake[i].source);
	assert_int_equal(iothread_add_source(&it, &fake[i].source), 0);
}

static void test_come_and_go(void **state)
{
	struct figures f;

	(void)state;
	watch(1);
	for (unsigned int n = 0; n < 100; n++) {
		unsigned int i = 1 + n * 7 % IDLE;

		iothread_call(&it, come_and_go, &i);
	}
	f = watch(5000);
	assert_true(f.longest <= PASSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_passes, start, stop),
		cmocka_unit_test_setup_teardown(test_long_turns, start, stop),
		cmocka_unit_test_setup_teardown(test_work, start, stop),
		cmocka_unit_test_setup_teardown(test_come_and_go, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
