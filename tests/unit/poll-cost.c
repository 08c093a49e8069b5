/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a thousand idle sources cost a busy one beside them: where a policy polls active sources
 * only, they are not looked at. For the policies whose originals look at every source the
 * figure is printed and nothing asked of it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "targets/iothread/iothread.h"

#define IDLE		1000
#define ROUNDS		7
#define ROUND_US	20000

/* A queue's worth of memory apart from its neighbours, so that a look at it costs a cache line */
struct fake {
	struct event_source source;
	bool busy;
	uint64_t served;
} __attribute__((aligned(256)));

static struct fake fake[1 + IDLE];
static struct iothread it;
static uint64_t looks;		/* at idle sources */

static bool fake_poll(struct event_source *s, uint64_t now)
{
	struct fake *f = (struct fake *)s;

	(void)now;
	looks += !f->busy;
	return f->busy;
}

static bool fake_arm(struct event_source *s)
{
	return ((struct fake *)s)->busy;
}

static void fake_disarm(struct event_source *s)
{
	(void)s;
}

static void fake_dispatch(struct event_source *s)
{
	((struct fake *)s)->served++;
}

static const struct event_source_ops fake_ops = {
	.poll = fake_poll,
	.arm = fake_arm,
	.disarm = fake_disarm,
	.dispatch = fake_dispatch,
};

static void add_all(void *arg)
{
	unsigned int nr = *(unsigned int *)arg;

	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(iothread_add_source(&it, &fake[i].source), 0);
}

static void remove_all(void *arg)
{
	unsigned int nr = *(unsigned int *)arg;

	for (unsigned int i = 0; i < nr; i++)
		iothread_remove_source(&it, &fake[i].source);
}

/* Served so far, and the CPU time of the thread, which other load leaves alone */
struct sample {
	double served;
	double looks;
	double cpu_s;
};

static void take_sample(void *arg)
{
	struct sample *s = arg;
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	s->served = fake[0].served;
	s->looks = looks;
	s->cpu_s = cpu.tv_sec + cpu.tv_nsec / 1e9;
}

/* Turns in a second of CPU time; and looks at idle sources a turn */
static double rate(int mode, unsigned int idle, double *looks_a_turn)
{
	const struct poll_config config = {
		.mode = mode, .max_ns = 32768, .start_rate = 1, .stop_idle_ns = 3000000000,
	};
	unsigned int nr = 1 + idle;
	struct poll_policy policy;
	struct sample from, to;
	cpu_set_t any;

	CPU_ZERO(&any);
	poll_policy_init(&policy, &config);
	assert_int_equal(iothread_start(&it, 0, &any, &policy), 0);
	iothread_call(&it, add_all, &nr);
	iothread_call(&it, take_sample, &from);
	do {
		usleep(ROUND_US);
		iothread_call(&it, take_sample, &to);
	} while (to.served <= from.served);
	iothread_call(&it, remove_all, &nr);
	iothread_stop(&it);
	assert_true(to.cpu_s > from.cpu_s);
	*looks_a_turn = (to.looks - from.looks) / (to.served - from.served);
	return (to.served - from.served) / (to.cpu_s - from.cpu_s);
}

/* As many descriptors as may be had */
static void raise_limit(void)
{
	struct rlimit lim;

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), ascending);
	return v[ROUNDS / 2];
}

/* A policy that polls sources from the start looks at all of them. */
static bool scans(int mode)
{
	struct poll_policy p;

	poll_policy_init(&p, &(struct poll_config) { .mode = mode, .max_ns = 1 });
	return p.ops->at_once;
}

static void test_a_thousand(void **state)
{
	(void)state;
	raise_limit();
	for (unsigned int i = 0; i < 1 + IDLE; i++) {
		fake[i].source.ops = &fake_ops;
		fake[i].source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (fake[i].source.fd < 0)
			skip();		/* fewer descriptors are allowed than this takes */
	}
	fake[0].busy = true;
	for (int mode = POLL_OFF; mode < POLL_MODES; mode++) {
		double alone[ROUNDS], beside[ROUNDS], looked[ROUNDS];

		for (unsigned int n = 0; n < ROUNDS; n++) {
			alone[n] = rate(mode, 0, &looked[n]);
			beside[n] = rate(mode, IDLE, &looked[n]);
		}
		printf("%-10s %8.1f ns a turn alone, %8.1f beside %d idle ones, %.2f looks at these\n",
		       poll_names[mode], 1e9 / median(alone), 1e9 / median(beside), IDLE, median(looked));
		if (scans(mode))
			continue;
		/* A look at each of them in one turn of a hundred would be ten. */
		assert_true(median(looked) < 1);
		/* Nor are they gone through without a look, which would be a turn many times as long. */
		assert_true(median(beside) > median(alone) / 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
