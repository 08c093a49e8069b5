// SPDX-License-Identifier: GPL-2.0-only
/* wait_mode=hybrid, with a device that is a timer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <cmocka.h>
/* The engines' glue is in no library. */
#include "engines/glue/wait.c"

#define SOON_NS		50000
#define NEVER_NS	(UINT64_MAX / 2)

/**
 * struct job - what is waited for
 * @fd: the device's timer
 * @due_ns: when it has something
 * @early: it was taken before that
 * @looks: times it was looked at
 * @armed: it wakes the job up
 * @slept_unarmed: the job slept when it did not
 * @gone: what a look returns once the device is gone
 */
struct job {
	int fd;
	uint64_t due_ns;
	bool early;
	unsigned int looks;
	bool armed;
	bool slept_unarmed;
	int gone;
};

static int look(struct job *j)
{
	j->looks++;
	return j->gone ? j->gone : clock_ns() >= j->due_ns;
}

static int before_sleep(struct job *j)
{
	j->armed = true;
	return look(j);
}

static void after_sleep(struct job *j)
{
	j->armed = false;
}

static unsigned int fds(struct job *j, struct pollfd *p)
{
	j->slept_unarmed |= !j->armed;
	*p = (struct pollfd) { .fd = j->fd, .events = POLLIN };
	return 1;
}

static int woken(struct job *j, const struct pollfd *p)
{
	(void)p;
	return look(j);
}

static const struct wait_ops ops = {
	.look = look, .before_sleep = before_sleep, .after_sleep = after_sleep, .fds = fds, .woken = woken,
	.first_looks = 1,
};

static void start(struct job *j, struct waiter *w, uint64_t max_ns)
{
	*j = (struct job) { .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) };
	assert_true(j->fd >= 0);
	waiter_init(w, WAIT_HYBRID, max_ns, &ops, j, NULL);
}

/* One wait for what comes in @ns; returns as waiter_wait(). */
static int wait_for(struct job *j, struct waiter *w, uint64_t ns, uint64_t timeout_ns)
{
	struct itimerspec at = { .it_value = ns_timespec(ns) };

	assert_int_equal(timerfd_settime(j->fd, 0, &at, NULL), 0);
	j->due_ns = clock_ns() + ns;
	int ret = waiter_wait(w, &ops, timeout_ns);

	j->early |= ret >= 0 && clock_ns() < j->due_ns;
	assert_false(j->armed);
	return ret;
}

static void test_never_early(void **state)
{
	struct waiter w;
	struct job j;

	(void)state;
	start(&j, &w, 32768);
	for (unsigned int i = 0; i < 1000; i++)
		assert_in_range(wait_for(&j, &w, SOON_NS, 1000000000), 0, 1);
	assert_false(j.early);
	assert_false(j.slept_unarmed);
	assert_in_range(w.forecast.total, 1, 1000);
	close(j.fd);
}

static void test_sleeps_first(void **state)
{
	struct waiter w;
	struct job j;
	uint64_t polls;

	(void)state;
	start(&j, &w, 1000000000);
	/* Whatever else runs here: it is known that waits last 20 ms at least, and are polled for after a sleep. */
	for (unsigned int i = 0; i < 64; i++)
		wait_forecast_learn(&w.forecast, 20000000 + i * 1000, w.window.max_ns, w.late_ns);
	assert_in_range(w.forecast.sleep_ns, 15000000, 20000000);
	assert_true(w.forecast.window_ns > 0);
	polls = w.stats.polls;
	j.looks = 0;
	/* A timer that wakes nobody up: what ends the wait is polling. */
	j.due_ns = clock_ns() + 300000000;
	w.forecast.window_ns = 1000000000;
	assert_int_equal(waiter_wait(&w, &ops, 2000000000), 1);
	assert_int_equal(w.stats.polls, polls + 1);
	assert_int_equal(w.stats.sleeps, 1);
	assert_true(w.waited_ns >= 200000000);
	close(j.fd);
}

static void test_woken_while_asleep(void **state)
{
	struct waiter w;
	struct job j;

	(void)state;
	start(&j, &w, 0);
	w.forecast.sleep_ns = 10000000000;
	w.forecast.window_ns = 1;
	assert_in_range(wait_for(&j, &w, 2000000, 30000000000), 0, 1);
	assert_int_equal(w.stats.sleeps, 1);
	assert_true(w.waited_ns < 9000000000);
	close(j.fd);
}

static void test_gives_up(void **state)
{
	struct waiter w;
	struct job j;

	(void)state;
	start(&j, &w, 32768);
	assert_int_equal(wait_for(&j, &w, NEVER_NS, 2000000), -ETIMEDOUT);
	assert_true(w.waited_ns >= 2000000);
	w.forecast.sleep_ns = 1000000;
	assert_int_equal(wait_for(&j, &w, NEVER_NS, 2000000), -ETIMEDOUT);
	j.gone = -ECONNRESET;
	assert_int_equal(wait_for(&j, &w, NEVER_NS, 2000000), -ECONNRESET);
	close(j.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_early),
		cmocka_unit_test(test_sleeps_first),
		cmocka_unit_test(test_woken_while_asleep),
		cmocka_unit_test(test_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
