/* SPDX-License-Identifier: GPL-2.0-only */
/* wire/split-driver.c and wire/split-device.c against each other */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/unit/ring-fixture.h"

/* One data segment; the request's number is its length */
static void add(struct ring_fixture *f, unsigned int slot, uint32_t len)
{
	struct vq_segment seg = { fixture_guest(f, f->data), len, true };

	split_driver_add_chain(&f->driver, slot, &seg, 1);
}

static void test_order_over_wraps(void **state)
{
	const unsigned int num = 16, slots = num / VQ_CHAIN, total = 200000;
	struct ring_fixture f;
	unsigned int added = 0, returned = 0;

	(void)state;
	fixture_init(&f, num, true, false, 0);
	for (unsigned int batch = 1; returned < total; batch = batch % slots + 1) {
		uint32_t written;

		for (unsigned int i = 0; i < batch; i++, added++)
			add(&f, added % slots, 1 + added % 4096);
		split_driver_publish(&f.driver);
		for (unsigned int i = 0; i < batch; i++) {
			uint16_t head = fixture_pop(&f);

			assert_int_equal(f.chain.nr_read, 0);
			assert_int_equal(f.chain.nr_write, 1);
			split_device_push(&f.device, head, f.chain.iov[0].iov_len);
		}
		assert_int_equal(split_device_pop(&f.device, &f.guest, &f.chain), 0);
		/* nothing is seen before it is published */
		assert_false(split_driver_has_used(&f.driver));
		split_device_publish(&f.device);
		for (unsigned int i = 0; i < batch; i++, returned++) {
			assert_int_equal(fixture_used(&f, &written),
					 returned % slots * VQ_CHAIN);
			assert_int_equal(written, 1 + returned % 4096);
		}
		assert_false(split_driver_has_used(&f.driver));
	}
	assert_int_equal(f.driver.avail_idx, (uint16_t)added);
	assert_int_equal(f.driver.used_idx, (uint16_t)added);
	fixture_free(&f);
}

static void test_used_in_other_order(void **state)
{
	struct ring_fixture f;
	uint16_t head[8];
	uint32_t written;

	(void)state;
	fixture_init(&f, 8, false, true, 65533);
	for (unsigned int i = 0; i < 8; i++)
		split_driver_add_indirect(&f.driver, i, fixture_guest(&f, f.data), 0);
	/* heads alone matter here, so make them plain segments */
	for (unsigned int i = 0; i < 8; i++)
		f.driver.desc[i] = (struct vring_desc) {
			.addr = htole64(fixture_guest(&f, f.data)), .len = htole32(1)
		};
	split_driver_publish(&f.driver);
	for (unsigned int i = 0; i < 8; i++)
		head[i] = fixture_pop(&f);
	for (unsigned int i = 8; i-- > 0; )
		split_device_push(&f.device, head[i], i);
	split_device_publish(&f.device);
	for (unsigned int i = 8; i-- > 0; ) {
		assert_int_equal(fixture_used(&f, &written), i);
		assert_int_equal(written, i);
	}
	fixture_free(&f);
}

static void expect_piece(struct ring_fixture *f, unsigned int i, const void *base, size_t len)
{
	assert_ptr_equal(f->chain.iov[i].iov_base, base);
	assert_int_equal(f->chain.iov[i].iov_len, len);
}

static void test_direct_chain(void **state)
{
	struct ring_fixture f;
	struct vq_segment seg[3];

	(void)state;
	fixture_init(&f, 16, false, false, 0);
	seg[0] = (struct vq_segment) { fixture_guest(&f, f.data), 16, false };
	seg[1] = (struct vq_segment) { fixture_guest(&f, f.data + 4096), 4096, true };
	seg[2] = (struct vq_segment) { fixture_guest(&f, f.data + 64), 1, true };
	split_driver_add_chain(&f.driver, 4, seg, 3);
	split_driver_publish(&f.driver);
	assert_int_equal(fixture_pop(&f), 4 * VQ_CHAIN);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 2);
	expect_piece(&f, 0, f.data, 16);
	expect_piece(&f, 1, f.data + 4096, 4096);
	expect_piece(&f, 2, f.data + 64, 1);

	/* the same slot, shorter: nothing of the longer one may be left */
	seg[1] = seg[2];
	split_driver_add_chain(&f.driver, 4, seg, 2);
	split_driver_publish(&f.driver);
	fixture_pop(&f);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 1);
	expect_piece(&f, 1, f.data + 64, 1);
	fixture_free(&f);
}

static void test_indirect_table(void **state)
{
	struct ring_fixture f;
	struct vring_desc *table;

	(void)state;
	fixture_init(&f, 4, false, true, 0);
	/* in an order of its own: entry 0, then 2, then 1 */
	table = (struct vring_desc *)f.data;
	table[0] = (struct vring_desc) { fixture_guest(&f, f.data + 512), 16, VRING_DESC_F_NEXT, 2 };
	table[2] = (struct vring_desc) { fixture_guest(&f, f.data + 8192), 512,
					 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 1 };
	table[1] = (struct vring_desc) { fixture_guest(&f, f.data + 1024), 1, VRING_DESC_F_WRITE, 0 };
	split_driver_add_indirect(&f.driver, 3, fixture_guest(&f, table), 3);
	split_driver_publish(&f.driver);
	assert_int_equal(fixture_pop(&f), 3);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 2);
	expect_piece(&f, 0, f.data + 512, 16);
	expect_piece(&f, 1, f.data + 8192, 512);
	expect_piece(&f, 2, f.data + 1024, 1);
	fixture_free(&f);
}

/* VIRTIO 1.2, 2.7.5.3.2: a chain may end in an indirect table; and that may lie anywhere */
static void test_chain_into_table(void **state)
{
	struct ring_fixture f;
	/* as many entries as the table has, behind descriptors that count for the ring only */
	struct vring_desc table[3];

	(void)state;
	fixture_init(&f, 4, false, true, 0);
	for (unsigned int i = 0; i < 3; i++)
		table[i] = (struct vring_desc) { fixture_guest(&f, f.data + 1024 + i), 1,
						 VRING_DESC_F_WRITE | (i < 2 ? VRING_DESC_F_NEXT : 0),
						 i + 1 };
	memcpy(f.data + 3, table, sizeof(table));
	for (unsigned int i = 0; i < 3; i++)
		f.driver.desc[i] = (struct vring_desc) { fixture_guest(&f, f.data + 512), 16,
							 VRING_DESC_F_NEXT, i + 1 };
	f.driver.desc[3] = (struct vring_desc) { fixture_guest(&f, f.data + 3), sizeof(table),
						 VRING_DESC_F_INDIRECT, 0 };
	f.driver.avail->ring[0] = 0;
	ring_store16(&f.driver.avail->idx, 1, memory_order_release);
	fixture_pop(&f);
	assert_int_equal(f.chain.nr_read, 3);
	assert_int_equal(f.chain.nr_write, 3);
	expect_piece(&f, 5, f.data + 1026, 1);
	fixture_free(&f);
}

/* Pops and returns all there is; returns whether the driver is to be called */
static bool serve(struct ring_fixture *f)
{
	while (split_device_pop(&f->device, &f->guest, &f->chain) == 1)
		split_device_push(&f->device, f->chain.head, 0);
	return split_device_publish(&f->device);
}

static void drain(struct ring_fixture *f)
{
	uint32_t id, written;

	while (split_driver_next_used(&f->driver, &id, &written) == 1)
		;
}

static bool submit(struct ring_fixture *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		add(f, i, 1);
	return split_driver_publish(&f->driver);
}

/* What holds with and without event index, at any place of the index */
static void check_kicks(bool event_idx, uint16_t start)
{
	struct ring_fixture f;

	fixture_init(&f, 16, event_idx, false, start);
	/* armed: the first request kicks, be it alone or in a batch */
	for (unsigned int n = 1; n <= 5; n++) {
		assert_false(split_device_enable_kicks(&f.device));
		assert_true(submit(&f, n));
		split_device_disable_kicks(&f.device);
		serve(&f);
		drain(&f);
	}
	/* off: none does, however far the indices go within half their range */
	for (unsigned int i = 0; i < 32000 / 3; i++) {
		assert_false(submit(&f, 3));
		serve(&f);
		drain(&f);
	}
	/* what comes before arming is found by it */
	assert_false(submit(&f, 1));
	assert_true(split_device_enable_kicks(&f.device));
	/* nothing new, no kick */
	assert_false(split_driver_publish(&f.driver));
	fixture_free(&f);
}

static void check_calls(bool event_idx, uint16_t start)
{
	struct ring_fixture f;

	fixture_init(&f, 16, event_idx, false, start);
	for (unsigned int n = 1; n <= 5; n++) {
		assert_false(split_driver_enable_calls(&f.driver));
		submit(&f, n);
		assert_true(serve(&f));
		split_driver_disable_calls(&f.driver);
		drain(&f);
	}
	for (unsigned int i = 0; i < 32000 / 3; i++) {
		submit(&f, 3);
		assert_false(serve(&f));
		drain(&f);
	}
	submit(&f, 1);
	assert_false(serve(&f));
	assert_true(split_driver_enable_calls(&f.driver));
	assert_false(split_device_publish(&f.device));
	fixture_free(&f);
}

/* so that each step of the checks meets the wrap once */
static void for_each_start(void (*check)(bool event_idx, uint16_t start), bool event_idx)
{
	for (unsigned int start = 65536 - 17; start <= 65536 + 2; start += 2)
		check(event_idx, start);
	check(event_idx, 0x7ffe);
}

static void test_kicks_by_event(void **state)
{
	(void)state;
	for_each_start(check_kicks, true);
}

static void test_calls_by_event(void **state)
{
	(void)state;
	for_each_start(check_calls, true);
}

static void test_kicks_by_flag(void **state)
{
	struct ring_fixture f;

	(void)state;
	for_each_start(check_kicks, false);
	fixture_init(&f, 8, false, false, 0);
	split_device_disable_kicks(&f.device);
	assert_int_equal(le16toh(f.driver.used->flags), VRING_USED_F_NO_NOTIFY);
	split_device_enable_kicks(&f.device);
	assert_int_equal(le16toh(f.driver.used->flags), 0);
	fixture_free(&f);
}

static void test_calls_by_flag(void **state)
{
	struct ring_fixture f;

	(void)state;
	for_each_start(check_calls, false);
	fixture_init(&f, 8, false, false, 0);
	split_driver_disable_calls(&f.driver);
	assert_int_equal(le16toh(f.driver.avail->flags), VRING_AVAIL_F_NO_INTERRUPT);
	split_driver_enable_calls(&f.driver);
	assert_int_equal(le16toh(f.driver.avail->flags), 0);
	fixture_free(&f);
}

/* Armed once, only the request it was armed for notifies, not those behind it */
static void test_event_fires_once(void **state)
{
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, 16, true, false, 65534);
	split_device_enable_kicks(&f.device);
	split_driver_enable_calls(&f.driver);
	assert_true(submit(&f, 1));
	assert_true(serve(&f));
	for (unsigned int i = 0; i < 1000; i++) {
		assert_false(submit(&f, 2));
		assert_false(serve(&f));
		drain(&f);
	}
	fixture_free(&f);
}

/* A wish that publishing just missed is seen by settling, once */
static void check_settle(bool event_idx, uint16_t start)
{
	struct ring_fixture f;

	fixture_init(&f, 16, event_idx, false, start);
	split_device_disable_kicks(&f.device);
	assert_false(submit(&f, 2));
	/* as if stored before the driver published, and not visible yet */
	f.device.avail_idx = start;
	split_device_enable_kicks(&f.device);
	assert_true(split_driver_settle(&f.driver));
	assert_false(split_driver_settle(&f.driver));

	split_driver_disable_calls(&f.driver);
	assert_false(serve(&f));
	f.driver.used_idx = start;
	split_driver_enable_calls(&f.driver);
	assert_true(split_device_settle(&f.device));
	assert_false(split_device_settle(&f.device));
	drain(&f);

	/* a notification sent at once leaves nothing to settle */
	split_device_enable_kicks(&f.device);
	split_driver_enable_calls(&f.driver);
	assert_true(submit(&f, 1));
	assert_false(split_driver_settle(&f.driver));
	assert_true(serve(&f));
	assert_false(split_device_settle(&f.device));
	/* nor does a wish not to be notified */
	drain(&f);
	split_device_disable_kicks(&f.device);
	split_driver_disable_calls(&f.driver);
	submit(&f, 1);
	assert_false(split_driver_settle(&f.driver));
	serve(&f);
	assert_false(split_device_settle(&f.device));
	fixture_free(&f);
}

static void test_settle(void **state)
{
	(void)state;
	for_each_start(check_settle, true);
	for_each_start(check_settle, false);
}

/*
 * Two busy sides need not settle for as long as they are busy, which may be for any
 * number of requests: the first one of them to sleep must be notified all the same.
 */
static void check_long_unsettled(unsigned int requests, unsigned int last)
{
	struct ring_fixture f;

	fixture_init(&f, 64, true, false, 100);
	split_device_enable_kicks(&f.device);
	split_device_disable_kicks(&f.device);
	split_driver_enable_calls(&f.driver);
	split_driver_disable_calls(&f.driver);
	for (unsigned int i = 0; i < requests; i++) {
		submit(&f, 1);
		serve(&f);
		drain(&f);
	}
	assert_false(split_device_enable_kicks(&f.device));
	assert_false(split_driver_enable_calls(&f.driver));
	if (!submit(&f, last) && !split_driver_settle(&f.driver))
		fail_msg("no kick after %u requests and %u more", requests, last);
	if (!serve(&f) && !split_device_settle(&f.device))
		fail_msg("no call after %u requests and %u more", requests, last);
	fixture_free(&f);
}

static void test_unsettled_over_wraps(void **state)
{
	(void)state;
	/* around the request at which the index is where it was */
	for (unsigned int end = 65535; end <= 65537; end++) {
		check_long_unsettled(end - 1, 1);
		check_long_unsettled(end - 4, 4);
		check_long_unsettled(end - 12, 12);
	}
}

static void test_device_resumes(void **state)
{
	struct ring_fixture f;
	struct split_device second = { 0 };
	uint32_t written;

	(void)state;
	fixture_init(&f, 16, true, false, 65534);
	submit(&f, 5);
	for (unsigned int i = 0; i < 3; i++)
		split_device_push(&f.device, fixture_pop(&f), 100 + i);
	split_device_publish(&f.device);

	fixture_attach(&f, &second, f.device.avail_idx);
	f.device = second;
	for (unsigned int i = 3; i < 5; i++)
		split_device_push(&f.device, fixture_pop(&f), 100 + i);
	assert_int_equal(split_device_pop(&f.device, &f.guest, &f.chain), 0);
	split_device_publish(&f.device);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(fixture_used(&f, &written), i * VQ_CHAIN);
		assert_int_equal(written, 100 + i);
	}
	fixture_free(&f);
}

static void test_driver_resumes(void **state)
{
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, 16, false, false, 65534);
	split_driver_disable_calls(&f.driver);
	submit(&f, 3);
	serve(&f);
	drain(&f);

	split_driver_init(&f.driver, f.mem, 16, false);
	assert_false(split_driver_has_used(&f.driver));
	/* calls are as off as the last owner left them */
	submit(&f, 1);
	assert_false(serve(&f));
	drain(&f);
	split_driver_enable_calls(&f.driver);
	submit(&f, 1);
	assert_true(serve(&f));
	assert_int_equal(f.driver.avail_idx, 3);
	fixture_free(&f);
}

static void test_bad_device(void **state)
{
	struct ring_fixture f;
	uint32_t id, written;

	(void)state;
	fixture_init(&f, 8, false, false, 65535);
	submit(&f, 1);
	fixture_pop(&f);
	split_device_push(&f.device, 8, 0);
	split_device_publish(&f.device);
	assert_int_equal(split_driver_next_used(&f.driver, &id, &written), -EPROTO);
	fixture_free(&f);

	fixture_init(&f, 8, false, false, 65535);
	ring_store16(&f.driver.used->idx, (uint16_t)(65535 + 9), memory_order_release);
	assert_int_equal(split_driver_next_used(&f.driver, &id, &written), -EPROTO);
	fixture_free(&f);
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

		split_device_disable_kicks(&d->f.device);
		while ((ret = split_device_pop(&d->f.device, &d->f.guest, &d->f.chain)) == 1) {
			split_device_push(&d->f.device, d->f.chain.head, 0);
			served++;
		}
		if (ret < 0)
			abort();
		if (served != before) {
			if (split_device_publish(&d->f.device))
				sem_post(&d->call);
			continue;
		}
		if (split_device_settle(&d->f.device))
			sem_post(&d->call);
		if (!split_device_enable_kicks(&d->f.device))
			sem_wait(&d->kick);
	}
	return NULL;
}

static void run_duel(bool event_idx)
{
	struct duel d = { .total = 100000 };
	unsigned int sent = 0, done = 0;
	pthread_t thread;

	fixture_init(&d.f, 16, event_idx, false, 60000);
	sem_init(&d.kick, 0, 0);
	sem_init(&d.call, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, duel_device, &d), 0);
	for (unsigned int batch = 1; done < d.total; batch = batch % 5 + 1) {
		uint32_t id, written;

		for (unsigned int i = 0; i < batch && sent < d.total; i++, sent++)
			add(&d.f, i, 1);
		if (split_driver_publish(&d.f.driver))
			sem_post(&d.kick);
		while (done < sent) {
			int ret = split_driver_next_used(&d.f.driver, &id, &written);

			assert_true(ret >= 0);
			done += ret;
			if (ret)
				continue;
			if (split_driver_settle(&d.f.driver))
				sem_post(&d.kick);
			if (!split_driver_enable_calls(&d.f.driver))
				sem_wait(&d.call);
		}
		split_driver_disable_calls(&d.f.driver);
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
		cmocka_unit_test(test_order_over_wraps),
		cmocka_unit_test(test_used_in_other_order),
		cmocka_unit_test(test_direct_chain),
		cmocka_unit_test(test_indirect_table),
		cmocka_unit_test(test_chain_into_table),
		cmocka_unit_test(test_kicks_by_event),
		cmocka_unit_test(test_calls_by_event),
		cmocka_unit_test(test_kicks_by_flag),
		cmocka_unit_test(test_calls_by_flag),
		cmocka_unit_test(test_event_fires_once),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_unsettled_over_wraps),
		cmocka_unit_test(test_device_resumes),
		cmocka_unit_test(test_driver_resumes),
		cmocka_unit_test(test_bad_device),
		cmocka_unit_test(test_no_lost_event),
		cmocka_unit_test(test_no_lost_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
