/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings of both formats: who is notified of what, and that no notification is lost */

#include <pthread.h>
#include <semaphore.h>

#include "tests/unit/ring-fixture.h"

/**
 * struct place - a ring to check, with and without event index
 * @requests: most that are there at a time
 * @rounds: how often three requests go round unnoticed: as far as a split ring's indices
 *	may go within half their range, more than twice round a packed ring
 */
struct place {
	enum ring_format format;
	unsigned int num;
	unsigned int start;
	unsigned int requests;
	unsigned int rounds;
};

static void begin(struct ring_fixture *f, const struct place *at, bool event_idx)
{
	fixture_init(f, at->format, at->num, event_idx, false, at->start);
}

static void check_kicks(const struct place *at, bool event_idx)
{
	struct ring_fixture f;

	begin(&f, at, event_idx);
	/* armed: the first request kicks, be it alone or in a batch */
	for (unsigned int n = 1; n <= at->requests; n++) {
		assert_false(vq_device_enable_kicks(&f.device));
		assert_true(submit(&f, n));
		vq_device_disable_kicks(&f.device);
		serve(&f);
		drain(&f);
	}
	/* off: none does, ever */
	for (unsigned int i = 0; i < at->rounds; i++) {
		assert_false(submit(&f, 3));
		serve(&f);
		drain(&f);
	}
	/* what comes before arming is found by it */
	assert_false(submit(&f, 1));
	assert_true(vq_device_enable_kicks(&f.device));
	/* nothing new, no kick */
	assert_false(vq_driver_publish(&f.driver));
	fixture_free(&f);
}

static void check_calls(const struct place *at, bool event_idx)
{
	struct ring_fixture f;

	begin(&f, at, event_idx);
	for (unsigned int n = 1; n <= at->requests; n++) {
		assert_false(vq_driver_enable_calls(&f.driver));
		submit(&f, n);
		assert_true(serve(&f));
		vq_driver_disable_calls(&f.driver);
		drain(&f);
	}
	for (unsigned int i = 0; i < at->rounds; i++) {
		submit(&f, 3);
		assert_false(serve(&f));
		drain(&f);
	}
	submit(&f, 1);
	assert_false(serve(&f));
	assert_true(vq_driver_enable_calls(&f.driver));
	assert_false(vq_device_publish(&f.device));
	fixture_free(&f);
}

/* A wish that publishing just missed is seen by the check before a wait, once */
static void check_before_wait(const struct place *at, bool event_idx)
{
	struct ring_fixture f;

	begin(&f, at, event_idx);
	vq_device_disable_kicks(&f.device);
	assert_false(submit(&f, 2));
	/* as if stored before the driver published, and not visible yet */
	vq_device_enable_kicks(&f.device);
	assert_true(vq_driver_needs_kick(&f.driver));
	assert_false(vq_driver_needs_kick(&f.driver));

	vq_driver_disable_calls(&f.driver);
	assert_false(serve(&f));
	vq_driver_enable_calls(&f.driver);
	assert_true(vq_device_needs_call(&f.device));
	assert_false(vq_device_needs_call(&f.device));
	drain(&f);

	/* a notification sent at once leaves nothing to check */
	vq_device_enable_kicks(&f.device);
	vq_driver_enable_calls(&f.driver);
	assert_true(submit(&f, 1));
	assert_false(vq_driver_needs_kick(&f.driver));
	assert_true(serve(&f));
	assert_false(vq_device_needs_call(&f.device));
	/* nor does a wish not to be notified */
	drain(&f);
	vq_device_disable_kicks(&f.device);
	vq_driver_disable_calls(&f.driver);
	submit(&f, 1);
	assert_false(vq_driver_needs_kick(&f.driver));
	serve(&f);
	assert_false(vq_device_needs_call(&f.device));
	fixture_free(&f);
}

static void everywhere(void (*check)(const struct place *at, bool event_idx))
{
	/* so that each step of the checks meets the wrap of the indices once */
	struct place at = { SPLIT, .num = 16, .requests = 5, .rounds = 32000 / 3 };

	for (at.start = 65536 - 17; at.start <= 65536 + 2; at.start += 2) {
		check(&at, false);
		check(&at, true);
	}
	at.start = 0x7ffe;
	check(&at, false);
	check(&at, true);

	for (unsigned int num = 5; num <= 8; num++) {
		at = (struct place) { PACKED, num, .requests = num, .rounds = 5 * num };
		for (at.start = 0; at.start < 2 * num; at.start++) {
			check(&at, false);
			check(&at, true);
		}
	}
}

static void test_kicks(void **state)
{
	(void)state;
	everywhere(check_kicks);
}

static void test_calls(void **state)
{
	(void)state;
	everywhere(check_calls);
}

static void test_before_wait(void **state)
{
	(void)state;
	everywhere(check_before_wait);
}

/* Both ends sleep whenever they may: one lost notification, and the test hangs */
struct duel {
	struct ring_fixture f;
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

		vq_device_disable_kicks(&d->f.device);
		while ((ret = vq_device_pop(&d->f.device, &d->f.guest, &d->f.chain)) == 1) {
			vq_device_push(&d->f.device, &d->f.chain, 0);
			served++;
		}
		if (ret < 0)
			abort();
		if (served != before) {
			if (vq_device_publish(&d->f.device))
				sem_post(&d->call);
			continue;
		}
		if (vq_device_needs_call(&d->f.device))
			sem_post(&d->call);
		if (!vq_device_enable_kicks(&d->f.device))
			sem_wait(&d->kick);
	}
	return NULL;
}

static void run_duel(enum ring_format format, unsigned int num, bool event_idx, unsigned int start)
{
	struct duel d = { .total = 100000 };
	unsigned int sent = 0, done = 0;
	pthread_t thread;

	fixture_init(&d.f, format, num, event_idx, false, start);
	sem_init(&d.kick, 0, 0);
	sem_init(&d.call, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, duel_device, &d), 0);
	for (unsigned int batch = 1; done < d.total; batch = batch % 5 + 1) {
		uint32_t id, written;

		for (unsigned int i = 0; i < batch && sent < d.total; i++, sent++)
			add(&d.f, i, 1);
		if (vq_driver_publish(&d.f.driver))
			sem_post(&d.kick);
		while (done < sent) {
			int ret = vq_driver_next_used(&d.f.driver, &id, &written);

			assert_true(ret >= 0);
			done += ret;
			if (ret)
				continue;
			if (vq_driver_needs_kick(&d.f.driver))
				sem_post(&d.kick);
			if (!vq_driver_enable_calls(&d.f.driver))
				sem_wait(&d.call);
		}
		vq_driver_disable_calls(&d.f.driver);
	}
	pthread_join(thread, NULL);
	sem_destroy(&d.kick);
	sem_destroy(&d.call);
	fixture_free(&d.f);
}

static void test_no_lost_event(void **state)
{
	(void)state;
	run_duel(SPLIT, 16, true, 60000);
	run_duel(PACKED, 13, true, 20);
}

static void test_no_lost_flag(void **state)
{
	(void)state;
	run_duel(SPLIT, 16, false, 60000);
	run_duel(PACKED, 13, false, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kicks),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_before_wait),
		cmocka_unit_test(test_no_lost_event),
		cmocka_unit_test(test_no_lost_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
