/* SPDX-License-Identifier: GPL-2.0-only */
/* Split rings: the driver's and the device's side against each other */

#include <errno.h>

#include "tests/unit/ring-fixture.h"

static void test_order_over_wraps(void **state)
{
	const unsigned int num = 16, slots = num / VQ_CHAIN, total = 200000;
	struct ring_fixture f;
	unsigned int added = 0, returned = 0;

	(void)state;
	fixture_init(&f, SPLIT, num, true, false, 0);
	for (unsigned int batch = 1; returned < total; batch = batch % slots + 1) {
		uint32_t written;

		for (unsigned int i = 0; i < batch; i++, added++)
			add(&f, added % slots, 1 + added % 4096);
		vq_driver_publish(&f.driver);
		for (unsigned int i = 0; i < batch; i++) {
			uint16_t head = fixture_pop(&f);

			assert_int_equal(f.chain.nr_read, 0);
			assert_int_equal(f.chain.nr_write, 1);
			vq_split_push(&f.device, head, f.chain.iov[0].iov_len);
		}
		assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), 0);
		/* nothing is seen before it is published */
		assert_false(vq_driver_has_used(&f.driver));
		vq_device_publish(&f.device);
		for (unsigned int i = 0; i < batch; i++, returned++) {
			assert_int_equal(fixture_used(&f, &written),
					 returned % slots * VQ_CHAIN);
			assert_int_equal(written, 1 + returned % 4096);
		}
		assert_false(vq_driver_has_used(&f.driver));
	}
	assert_int_equal(f.driver.avail_idx, (uint16_t)added);
	assert_int_equal(f.driver.last_used_idx, (uint16_t)added);
	fixture_free(&f);
}

static void test_used_in_other_order(void **state)
{
	struct ring_fixture f;
	uint16_t head[8];
	uint32_t written;

	(void)state;
	fixture_init(&f, SPLIT, 8, false, true, 65533);
	for (unsigned int i = 0; i < 8; i++)
		vq_driver_add_indirect(&f.driver, i, fixture_guest(&f, f.data), 0);
	/* heads alone matter here, so make them plain segments */
	for (unsigned int i = 0; i < 8; i++)
		f.driver.split.desc[i] = (struct vring_desc) {
			.addr = htole64(fixture_guest(&f, f.data)), .len = htole32(1)
		};
	vq_driver_publish(&f.driver);
	for (unsigned int i = 0; i < 8; i++)
		head[i] = fixture_pop(&f);
	for (unsigned int i = 8; i-- > 0; )
		vq_split_push(&f.device, head[i], i);
	vq_device_publish(&f.device);
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
	fixture_init(&f, SPLIT, 16, false, false, 0);
	seg[0] = (struct vq_segment) { fixture_guest(&f, f.data), 16, false };
	seg[1] = (struct vq_segment) { fixture_guest(&f, f.data + 4096), 4096, true };
	seg[2] = (struct vq_segment) { fixture_guest(&f, f.data + 64), 1, true };
	vq_driver_add_chain(&f.driver, 4, seg, 3);
	vq_driver_publish(&f.driver);
	assert_int_equal(fixture_pop(&f), 4 * VQ_CHAIN);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 2);
	expect_piece(&f, 0, f.data, 16);
	expect_piece(&f, 1, f.data + 4096, 4096);
	expect_piece(&f, 2, f.data + 64, 1);

	/* the same slot, shorter: nothing of the longer one may be left */
	seg[1] = seg[2];
	vq_driver_add_chain(&f.driver, 4, seg, 2);
	vq_driver_publish(&f.driver);
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
	fixture_init(&f, SPLIT, 4, false, true, 0);
	/* in an order of its own: entry 0, then 2, then 1 */
	table = (struct vring_desc *)f.data;
	table[0] = (struct vring_desc) { fixture_guest(&f, f.data + 512), 16, VRING_DESC_F_NEXT, 2 };
	table[2] = (struct vring_desc) { fixture_guest(&f, f.data + 8192), 512,
					 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 1 };
	table[1] = (struct vring_desc) { fixture_guest(&f, f.data + 1024), 1, VRING_DESC_F_WRITE, 0 };
	vq_driver_add_indirect(&f.driver, 3, fixture_guest(&f, table), 3);
	vq_driver_publish(&f.driver);
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
	fixture_init(&f, SPLIT, 4, false, true, 0);
	for (unsigned int i = 0; i < 3; i++)
		table[i] = (struct vring_desc) { fixture_guest(&f, f.data + 1024 + i), 1,
						 VRING_DESC_F_WRITE | (i < 2 ? VRING_DESC_F_NEXT : 0),
						 i + 1 };
	memcpy(f.data + 3, table, sizeof(table));
	for (unsigned int i = 0; i < 3; i++)
		f.driver.split.desc[i] = (struct vring_desc) { fixture_guest(&f, f.data + 512), 16,
							 VRING_DESC_F_NEXT, i + 1 };
	f.driver.split.desc[3] = (struct vring_desc) { fixture_guest(&f, f.data + 3), sizeof(table),
						 VRING_DESC_F_INDIRECT, 0 };
	f.driver.split.avail->ring[0] = 0;
	ring_store16(&f.driver.split.avail->idx, 1, memory_order_release);
	fixture_pop(&f);
	assert_int_equal(f.chain.nr_read, 3);
	assert_int_equal(f.chain.nr_write, 3);
	expect_piece(&f, 5, f.data + 1026, 1);
	fixture_free(&f);
}

static void test_flags(void **state)
{
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, SPLIT, 8, false, false, 0);
	vq_device_disable_kicks(&f.device);
	assert_int_equal(le16toh(f.driver.split.used->flags), VRING_USED_F_NO_NOTIFY);
	vq_device_enable_kicks(&f.device);
	assert_int_equal(le16toh(f.driver.split.used->flags), 0);
	vq_driver_disable_calls(&f.driver);
	assert_int_equal(le16toh(f.driver.split.avail->flags), VRING_AVAIL_F_NO_INTERRUPT);
	vq_driver_enable_calls(&f.driver);
	assert_int_equal(le16toh(f.driver.split.avail->flags), 0);
	fixture_free(&f);
}

/* Armed once, only the request it was armed for notifies, not those behind it */
static void test_event_fires_once(void **state)
{
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, SPLIT, 16, true, false, 65534);
	vq_device_enable_kicks(&f.device);
	vq_driver_enable_calls(&f.driver);
	assert_true(submit(&f, 1));
	assert_true(serve(&f));
	for (unsigned int i = 0; i < 1000; i++) {
		assert_false(submit(&f, 2));
		assert_false(serve(&f));
		drain(&f);
	}
	fixture_free(&f);
}

/*
 * Two busy sides need not make certain for as long as they are busy, which may be for any
 * number of requests: the first one of them to sleep must be notified all the same.
 */
static void check_long_unchecked(unsigned int requests, unsigned int last)
{
	struct ring_fixture f;

	fixture_init(&f, SPLIT, 64, true, false, 100);
	vq_device_enable_kicks(&f.device);
	vq_device_disable_kicks(&f.device);
	vq_driver_enable_calls(&f.driver);
	vq_driver_disable_calls(&f.driver);
	for (unsigned int i = 0; i < requests; i++) {
		submit(&f, 1);
		serve(&f);
		drain(&f);
	}
	assert_false(vq_device_enable_kicks(&f.device));
	assert_false(vq_driver_enable_calls(&f.driver));
	if (!submit(&f, last) && !vq_driver_needs_kick(&f.driver))
		fail_msg("no kick after %u requests and %u more", requests, last);
	if (!serve(&f) && !vq_device_needs_call(&f.device))
		fail_msg("no call after %u requests and %u more", requests, last);
	fixture_free(&f);
}

static void test_unchecked_over_wraps(void **state)
{
	(void)state;
	/* around the request at which the index is where it was */
	for (unsigned int end = 65535; end <= 65537; end++) {
		check_long_unchecked(end - 1, 1);
		check_long_unchecked(end - 4, 4);
		check_long_unchecked(end - 12, 12);
	}
}

static void test_device_resumes(void **state)
{
	struct ring_fixture f;
	struct vq_device second;
	uint32_t written;

	(void)state;
	fixture_init(&f, SPLIT, 16, true, false, 65534);
	submit(&f, 5);
	for (unsigned int i = 0; i < 3; i++)
		vq_split_push(&f.device, fixture_pop(&f), 100 + i);
	vq_device_publish(&f.device);

	fixture_attach(&f, &second, true, false, f.device.last_avail_idx);
	f.device = second;
	for (unsigned int i = 3; i < 5; i++)
		vq_split_push(&f.device, fixture_pop(&f), 100 + i);
	assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), 0);
	vq_device_publish(&f.device);
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
	fixture_init(&f, SPLIT, 16, false, false, 65534);
	vq_driver_disable_calls(&f.driver);
	submit(&f, 3);
	serve(&f);
	drain(&f);

	vq_driver_init(&f.driver, false, f.mem, 16, false, NULL);
	assert_false(vq_driver_has_used(&f.driver));
	/* calls are as off as the last owner left them */
	submit(&f, 1);
	assert_false(serve(&f));
	drain(&f);
	vq_driver_enable_calls(&f.driver);
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
	fixture_init(&f, SPLIT, 8, false, false, 65535);
	submit(&f, 1);
	fixture_pop(&f);
	vq_split_push(&f.device, 8, 0);
	vq_device_publish(&f.device);
	assert_int_equal(vq_driver_next_used(&f.driver, &id, &written), -EPROTO);
	fixture_free(&f);

	fixture_init(&f, SPLIT, 8, false, false, 65535);
	ring_store16(&f.driver.split.used->idx, (uint16_t)(65535 + 9), memory_order_release);
	assert_int_equal(vq_driver_next_used(&f.driver, &id, &written), -EPROTO);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_over_wraps),
		cmocka_unit_test(test_used_in_other_order),
		cmocka_unit_test(test_direct_chain),
		cmocka_unit_test(test_indirect_table),
		cmocka_unit_test(test_chain_into_table),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_event_fires_once),
		cmocka_unit_test(test_unchecked_over_wraps),
		cmocka_unit_test(test_device_resumes),
		cmocka_unit_test(test_driver_resumes),
		cmocka_unit_test(test_bad_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
