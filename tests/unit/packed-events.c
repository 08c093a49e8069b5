/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed rings: who is notified of what, and that no notification is lost */

#include <pthread.h>
#include <semaphore.h>

#include "tests/unit/packed-fixture.h"

/* What holds with and without event index, at any place */
static void check_kicks(unsigned int num, bool event_idx, unsigned int start)
{
	struct packed_fixture f;

	fixture_init(&f, num, event_idx, false, start);
	/* armed: the first request kicks, be it alone or in a batch */
	for (unsigned int n = 1; n <= num; n++) {
		assert_false(packed_device_enable_kicks(&f.device));
		assert_true(submit(&f, n));
		packed_device_disable_kicks(&f.device);
		serve(&f);
		drain(&f);
	}
	/* off: none does, ever */
	for (unsigned int i = 0; i < 5 * num; i++) {
		assert_false(submit(&f, 3));
		serve(&f);
		drain(&f);
	}
	/* what comes before arming is found by it */
	assert_false(submit(&f, 1));
	assert_true(packed_device_enable_kicks(&f.device));
	/* nothing new, no kick */
	assert_false(packed_driver_publish(&f.driver));
	fixture_free(&f);
}

static void check_calls(unsigned int num, bool event_idx, unsigned int start)
{
	struct packed_fixture f;

	fixture_init(&f, num, event_idx, false, start);
	for (unsigned int n = 1; n <= num; n++) {
		assert_false(packed_driver_enable_calls(&f.driver));
		submit(&f, n);
		assert_true(serve(&f));
		packed_driver_disable_calls(&f.driver);
		drain(&f);
	}
	for (unsigned int i = 0; i < 5 * num; i++) {
		submit(&f, 3);
		assert_false(serve(&f));
		drain(&f);
	}
	submit(&f, 1);
	assert_false(serve(&f));
	assert_true(packed_driver_enable_calls(&f.driver));
	assert_false(packed_device_publish(&f.device));
	fixture_free(&f);
}

/* A wish that publishing just missed is seen by settling, once */
static void check_settle(unsigned int num, bool event_idx, unsigned int start)
{
	struct packed_fixture f;

	fixture_init(&f, num, event_idx, false, start);
	packed_device_disable_kicks(&f.device);
	assert_false(submit(&f, 2));
	/* as if stored before the driver published, and not visible yet */
	packed_device_enable_kicks(&f.device);
	assert_true(packed_driver_settle(&f.driver));
	assert_false(packed_driver_settle(&f.driver));

	packed_driver_disable_calls(&f.driver);
	assert_false(serve(&f));
	packed_driver_enable_calls(&f.driver);
	assert_true(packed_device_settle(&f.device));
	assert_false(packed_device_settle(&f.device));
	drain(&f);

	/* a notification sent at once leaves nothing to settle */
	packed_device_enable_kicks(&f.device);
	packed_driver_enable_calls(&f.driver);
	assert_true(submit(&f, 1));
	assert_false(packed_driver_settle(&f.driver));
	assert_true(serve(&f));
	assert_false(packed_device_settle(&f.device));
	/* nor does a wish not to be notified */
	drain(&f);
	packed_device_disable_kicks(&f.device);
	packed_driver_disable_calls(&f.driver);
	submit(&f, 1);
	assert_false(packed_driver_settle(&f.driver));
	serve(&f);
	assert_false(packed_device_settle(&f.device));
	fixture_free(&f);
}

static void for_each_start(void (*check)(unsigned int num, bool event_idx, unsigned int start),
			   bool event_idx)
{
	for (unsigned int num = 5; num <= 8; num++)
		for (unsigned int start = 0; start < 2 * num; start++)
			check(num, event_idx, start);
}

static void test_kicks(void **state)
{
	(void)state;
	for_each_start(check_kicks, true);
	for_each_start(check_kicks, false);
}

static void test_calls(void **state)
{
	(void)state;
	for_each_start(check_calls, true);
	for_each_start(check_calls, false);
}

static void test_settle(void **state)
{
	(void)state;
	for_each_start(check_settle, true);
	for_each_start(check_settle, false);
}

/* Armed once, only the descriptor it was armed for notifies, not those behind it */
static void test_event_fires_once(void **state)
{
	struct packed_fixture f;

	(void)state;
	fixture_init(&f, 16, true, false, 15);
	packed_device_enable_kicks(&f.device);
	packed_driver_enable_calls(&f.driver);
	assert_int_equal(le16toh(f.device.device_event->flags), VRING_PACKED_EVENT_FLAG_DESC);
	assert_int_equal(le16toh(f.device.device_event->off_wrap), 15 | 0x8000);
	assert_true(submit(&f, 1));
	assert_true(serve(&f));
	drain(&f);
	/* until the ring has gone round twice */
	for (unsigned int i = 0; i < 15; i++) {
		assert_false(submit(&f, 2));
		assert_false(serve(&f));
		drain(&f);
	}
	assert_true(submit(&f, 2));
	assert_true(serve(&f));
	fixture_free(&f);
}

/* What a peer may put into its structure */
static void test_event_forms(void **state)
{
	(void)state;
	/* asking for one descriptor without having negotiated it is asking for all */
	assert_true(packed_event_wanted(packed_event(2, 0), false, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(2, 0), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(2, 4 | 0x8000), true, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(2, 4), true, 5, 1, 8));
	/* no descriptor of the queue */
	for (unsigned int n = 1; n <= 8; n++)
		assert_false(packed_event_wanted(packed_event(2, 8 | 0x8000), true, 5, n, 8));
	/* flags: 1 is off, 0 and the reserved 3 are on, whatever else is set */
	assert_false(packed_event_wanted(packed_event(1, 0xffff), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(0, 0xffff), true, 5, 1, 8));
	assert_true(packed_event_wanted(packed_event(3, 0), true, 5, 1, 8));
	assert_false(packed_event_wanted(packed_event(0xfffd, 0), true, 5, 1, 8));
}

/* Two busy sides need not settle for any number of requests; the first to sleep is notified */
static void test_long_unsettled(void **state)
{
	(void)state;
	for (unsigned int requests = 120; requests < 140; requests++) {
		struct packed_fixture f;

		fixture_init(&f, 64, true, false, 100);
		packed_device_disable_kicks(&f.device);
		packed_driver_disable_calls(&f.driver);
		for (unsigned int i = 0; i < requests; i++) {
			submit(&f, 1);
			serve(&f);
			drain(&f);
		}
		assert_false(packed_device_enable_kicks(&f.device));
		assert_false(packed_driver_enable_calls(&f.driver));
		assert_true(submit(&f, 3) || packed_driver_settle(&f.driver));
		assert_true(serve(&f) || packed_device_settle(&f.device));
		fixture_free(&f);
	}
}

/* Both ends sleep whenever they may: one lost notification, and the test hangs */
struct duel {
	struct packed_fixture f;
	sem_t kick, call;
	unsigned int total;
};

static void *duel_device(void *arg)
{
	struct duel *d = arg;
	unsigned int served = 0;

	while (served < d->total) {
		unsigned int before = served;
		int ret;

		packed_device_disable_kicks(&d->f.device);
		while ((ret = packed_device_pop(&d->f.device, &d->f.guest, &d->f.chain)) == 1) {
			packed_device_push(&d->f.device, d->f.chain.head, d->f.chain.count, 0);
			served++;
		}
		if (ret < 0)
			abort();
		if (served != before) {
			if (packed_device_publish(&d->f.device))
				sem_post(&d->call);
			continue;
		}
		if (packed_device_settle(&d->f.device))
			sem_post(&d->call);
		if (!packed_device_enable_kicks(&d->f.device))
			sem_wait(&d->kick);
	}
	return NULL;
}

static void run_duel(bool event_idx)
{
	struct duel d = { .total = 100000 };
	unsigned int sent = 0, done = 0;
	pthread_t thread;

	fixture_init(&d.f, 13, event_idx, false, 20);
	sem_init(&d.kick, 0, 0);
	sem_init(&d.call, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, duel_device, &d), 0);
	for (unsigned int batch = 1; done < d.total; batch = batch % 5 + 1) {
		uint32_t slot, written;

		for (unsigned int i = 0; i < batch && sent < d.total; i++, sent++)
			add(&d.f, i, 1);
		if (packed_driver_publish(&d.f.driver))
			sem_post(&d.kick);
		while (done < sent) {
			int ret = packed_driver_next_used(&d.f.driver, &slot, &written);

			assert_true(ret >= 0);
			done += ret;
			if (ret)
				continue;
			if (packed_driver_settle(&d.f.driver))
				sem_post(&d.kick);
			if (!packed_driver_enable_calls(&d.f.driver))
				sem_wait(&d.call);
		}
		packed_driver_disable_calls(&d.f.driver);
	}
	pthread_join(thread, NULL);
	sem_destroy(&d.kick);
	sem_destroy(&d.call);
	fixture_free(&d.f);
}

static void test_no_lost_event(void **state)
{
	(void)state;
	run_duel(true);
}

static void test_no_lost_flag(void **state)
{
	(void)state;
	run_duel(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kicks),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_event_fires_once),
		cmocka_unit_test(test_event_forms),
		cmocka_unit_test(test_long_unsettled),
		cmocka_unit_test(test_no_lost_event),
		cmocka_unit_test(test_no_lost_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
