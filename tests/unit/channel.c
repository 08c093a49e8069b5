/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/backend/channel.c: what stands between a request and its end */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "targets/backend/channel.h"

#define MANY	1000

static struct backend backend;
static struct iothread it;
static struct blk_request request[MANY];
static bool at_once[MANY];
static bool has_model;
static atomic_uint finished;

static void done(struct blk_request *r)
{
	(void)r;
	atomic_fetch_add(&finished, 1);
}

static void submit_all(void *arg)
{
	unsigned int nr = *(unsigned int *)arg;

	channel_reserve(it.channel, nr);
	has_model = it.channel->model;
	for (unsigned int i = 0; i < nr; i++) {
		request[i] = (struct blk_request) {
			.backend = &backend, .kind = REQ_FLUSH, .done = done,
		};
		at_once[i] = channel_submit(it.channel, &request[i]);
	}
}

static void release_all(void *arg)
{
	channel_release(it.channel, *(unsigned int *)arg);
}

/* Send @nr requests through a channel and wait for those that were not done at once */
static void run(const struct channel_config *config, unsigned int nr)
{
	const struct backend_config disk = { .ops = &null_backend, .size = 1 << 20 };
	struct poll_policy off;
	unsigned int later = 0;
	cpu_set_t any;

	CPU_ZERO(&any);
	poll_policy_init(&off, &(struct poll_config) { .mode = POLL_OFF });
	atomic_store(&finished, 0);
	assert_int_equal(backend_open(&backend, &disk), 0);
	assert_int_equal(iothread_start(&it, 0, &any, &off), 0);
	assert_int_equal(channel_start(&it, config), 0);
	iothread_call(&it, submit_all, &nr);
	for (unsigned int i = 0; i < nr; i++)
		later += !at_once[i];
	while (atomic_load(&finished) < later)
		usleep(1000);
	iothread_call(&it, release_all, &nr);
	channel_stop(&it);
	iothread_stop(&it);
	backend_close(&backend);
}

static unsigned int failed(unsigned int nr)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		n += request[i].result == -EIO;
	return n;
}

static void test_nothing_between(void **state)
{
	const struct channel_config through = { 0 };

	(void)state;
	run(&through, 10);
	for (unsigned int i = 0; i < 10; i++)
		assert_true(at_once[i] && !request[i].result);
}

/* The emulated device is there when one of its options is given, and only then. */
static void test_model(void **state)
{
	static const struct channel_config without[] = {
		{ .aio = NULL },
		{ .wakeup_cost_ns = 1000 },
		{ .aio = &threads_aio, .pool = { .max_threads = 1 } },
	};
	static const struct model_config with[] = {
		{ .delay = { .kind = DELAY_FIXED, .ns = 1 } }, { .throttled = true },
		{ .request_cost_ns = 1 }, { .extra_notify = 1 }, { .error_rate = 0.5 }, { .fail_after = 100 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		struct channel_config config = without[i];

		config.pool.wakeup = wakeup_list[0];
		run(&config, 3);
		assert_false(has_model);
		assert_int_equal(failed(3), 0);
	}
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		run(&(struct channel_config) { .model = with[i] }, 3);
		assert_true(has_model);
	}
}

static void test_request_cost(void **state)
{
	const struct channel_config config = { .model.request_cost_ns = 2000000 };
	uint64_t start = clock_ns();

	(void)state;
	run(&config, 3);
	assert_true(clock_ns() - start >= 3 * config.model.request_cost_ns);
	assert_true(at_once[0]);
}

static void test_delay(void **state)
{
	const struct channel_config config = { .model.delay = { .kind = DELAY_FIXED, .ns = 20000000 } };
	uint64_t start = clock_ns();

	(void)state;
	run(&config, 100);
	assert_true(clock_ns() - start >= config.model.delay.ns);
	assert_false(at_once[0] || at_once[99]);
	assert_int_equal(failed(100), 0);
}

static void test_fail_after(void **state)
{
	const struct channel_config config = { .model.fail_after = 7 };

	(void)state;
	run(&config, 20);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(request[i].result, i < 7 ? 0 : -EIO);
}

/* An error takes as long as any other answer */
static void test_delayed_error(void **state)
{
	const struct channel_config config = {
		.model = { .delay = { .kind = DELAY_FIXED, .ns = 5000000 }, .error_rate = 1 },
	};

	(void)state;
	run(&config, 5);
	assert_false(at_once[0]);
	assert_int_equal(failed(5), 5);
}

/* Ten standard deviations around what is expected of so many draws */
static void test_error_rate(void **state)
{
	const struct channel_config config = { .model.error_rate = 0.3 };

	(void)state;
	run(&config, MANY);
	assert_in_range(failed(MANY), 150, 450);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_between),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_request_cost),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_fail_after),
		cmocka_unit_test(test_delayed_error),
		cmocka_unit_test(test_error_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
