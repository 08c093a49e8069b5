/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed rings: the driver's and the device's side against each other */

#include <errno.h>

#include "base/rng.h"
#include "tests/unit/ring-fixture.h"

static void test_positions(void **state)
{
	static const unsigned int nums[] = { 1, 2, 7, 128, 32767, 32768 };

	(void)state;
	assert_int_equal(sizeof(struct vring_packed_desc), 16);
	assert_int_equal(sizeof(struct vring_packed_desc_event), 4);
	for (size_t n = 0; n < sizeof(nums) / sizeof(nums[0]); n++) {
		unsigned int num = nums[n], pos = 0;

		for (unsigned int i = 0; i < 2 * num; i++) {
			assert_int_equal(pos, i);
			assert_int_equal(packed_index(pos, num), i % num);
			assert_int_equal(packed_to_wire(pos, num), i % num + (i < num ? 0x8000 : 0));
			assert_int_equal(packed_from_wire(packed_to_wire(pos, num), num), pos);
			assert_int_equal(packed_distance(0, pos, num), i);
			assert_int_equal(packed_distance(pos, 0, num), (2 * num - i) % (2 * num));
			pos = packed_advance(pos, 1, num);
		}
		assert_int_equal(pos, 0);
		if (num < 32768) {
			assert_int_equal(packed_from_wire(num, num), 2 * num);
			assert_int_equal(packed_from_wire(num | 0x8000, num), 2 * num);
		}
	}
	/* a new ring: nothing available, nothing used, the counters 1 (2.8.1) */
	assert_int_equal(packed_avail_flags(0, 8), 1 << 7);
	assert_int_equal(packed_used_flags(0, 8), 1 << 7 | 1 << 15);
	assert_int_equal(packed_avail_flags(8, 8), 1 << 15);
	assert_int_equal(packed_used_flags(8, 8), 0);
}

/* What a descriptor looks like at each stage, as the standard says it */
static void test_format(void **state)
{
	struct ring_fixture f;
	struct vq_segment seg[2];
	struct vring_packed_desc *desc;
	uint32_t written;

	(void)state;
	fixture_init(&f, PACKED, 4, false, false, 0);
	desc = f.driver.packed.desc;
	seg[0] = (struct vq_segment) { fixture_guest(&f, f.data), 16, false };
	seg[1] = (struct vq_segment) { fixture_guest(&f, f.data + 64), 4096, true };
	vq_driver_add_chain(&f.driver, 3, seg, 2);
	assert_int_equal(le16toh(desc[0].flags), 0);
	vq_driver_publish(&f.driver);
	assert_int_equal(le64toh(desc[0].addr), seg[0].addr);
	assert_int_equal(le32toh(desc[0].len), 16);
	assert_int_equal(le16toh(desc[0].flags), 1 << 7 | VRING_DESC_F_NEXT);
	assert_int_equal(le64toh(desc[1].addr), seg[1].addr);
	assert_int_equal(le16toh(desc[1].id), 3);
	assert_int_equal(le16toh(desc[1].flags), 1 << 7 | VRING_DESC_F_WRITE);

	assert_int_equal(fixture_pop(&f), 3);
	assert_int_equal(f.chain.count, 2);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 1);
	assert_ptr_equal(f.chain.iov[0].iov_base, f.data);
	assert_int_equal(f.chain.iov[1].iov_len, 4096);
	vq_packed_push(&f.device, 3, 2, 4097);
	assert_false(vq_driver_has_used(&f.driver));
	vq_device_publish(&f.device);
	assert_int_equal(le16toh(desc[0].id), 3);
	assert_int_equal(le32toh(desc[0].len), 4097);
	assert_int_equal(le16toh(desc[0].flags), 1 << 7 | 1 << 15 | VRING_DESC_F_WRITE);
	assert_int_equal(fixture_used(&f, &written), 3);
	assert_int_equal(written, 4097);

	/* nothing written: no flag, and the length says nothing */
	add(&f, 1, 1);
	vq_driver_publish(&f.driver);
	fixture_pop(&f);
	vq_packed_push(&f.device, 1, 1, 0);
	vq_device_publish(&f.device);
	assert_int_equal(le16toh(desc[2].flags), 1 << 7 | 1 << 15);
	desc[2].len = htole32(77);
	assert_int_equal(fixture_used(&f, &written), 1);
	assert_int_equal(written, 0);

	/* the second lap */
	add(&f, 0, 1);
	add(&f, 2, 1);
	vq_driver_publish(&f.driver);
	assert_int_equal(le16toh(desc[0].flags), 1 << 15 | VRING_DESC_F_WRITE);
	fixture_pop(&f);
	fixture_pop(&f);
	vq_packed_push(&f.device, 2, 1, 1);
	vq_packed_push(&f.device, 0, 1, 1);
	vq_device_publish(&f.device);
	assert_int_equal(le16toh(desc[0].flags), VRING_DESC_F_WRITE);
	assert_int_equal(fixture_used(&f, &written), 2);
	assert_int_equal(fixture_used(&f, &written), 0);
	assert_false(vq_driver_has_used(&f.driver));
	fixture_free(&f);
}

static void test_table(void **state)
{
	struct ring_fixture f;
	/* NEXT, INDIRECT and the ids say nothing in a table; and that may lie anywhere */
	struct vring_packed_desc table[3];
	uint32_t written;

	(void)state;
	fixture_init(&f, PACKED, 3, false, true, 5);
	for (unsigned int i = 0; i < 3; i++)
		table[i] = (struct vring_packed_desc) {
			.addr = htole64(fixture_guest(&f, f.data + 1024 + i)),
			.len = htole32(i + 1),
			.id = htole16(99),
			.flags = htole16((i ? VRING_DESC_F_WRITE : 0) |
					 (i < 2 ? 0 : VRING_DESC_F_NEXT | VRING_DESC_F_INDIRECT)),
		};
	memcpy(f.data + 3, table, sizeof(table));
	vq_driver_add_indirect(&f.driver, 2, fixture_guest(&f, f.data + 3), 3);
	vq_driver_publish(&f.driver);
	assert_int_equal(fixture_pop(&f), 2);
	assert_int_equal(f.chain.count, 1);
	assert_int_equal(f.chain.nr_read, 1);
	assert_int_equal(f.chain.nr_write, 2);
	assert_ptr_equal(f.chain.iov[2].iov_base, f.data + 1026);
	assert_int_equal(f.chain.iov[2].iov_len, 3);
	vq_packed_push(&f.device, 2, 1, 5);
	vq_device_publish(&f.device);
	assert_int_equal(fixture_used(&f, &written), 2);
	assert_int_equal(written, 5);
	fixture_free(&f);
}

/* What the drawn test below knows of a request */
struct known {
	unsigned int count;
	uint32_t written;
	enum { FREE, ADDED, TAKEN, RETURNED } at;
};

struct drawn {
	struct ring_fixture f;
	struct rng rng;
	struct known known[32];
	unsigned int num, free;		/* descriptors */
	unsigned int order[32], added, shown;	/* slots in the order of the ring */
	unsigned int taken[32], nr_taken;
	unsigned int back[32], nr_back, nr_back_shown;
};

static void forget_first(unsigned int *list, unsigned int *n, unsigned int i)
{
	memmove(list + i, list + i + 1, (--*n - i) * sizeof(*list));
}

static void draw_add(struct drawn *d)
{
	unsigned int slot = rng_below(&d->rng, d->num), n = 1 + rng_below(&d->rng, VQ_CHAIN);
	struct vq_segment seg[VQ_CHAIN];

	if (d->known[slot].at != FREE || n > d->free)
		return;
	for (unsigned int i = 0; i < n; i++)
		seg[i] = (struct vq_segment) { fixture_guest(&d->f, d->f.data) + slot, 1 + i, i > 0 };
	vq_driver_add_chain(&d->f.driver, slot, seg, n);
	d->known[slot] = (struct known) { .count = n, .at = ADDED };
	d->free -= n;
	d->order[d->added++] = slot;
}

static void draw_pop(struct drawn *d)
{
	unsigned int slot;

	if (!d->shown) {
		assert_false(vq_device_has_avail(&d->f.device));
		assert_int_equal(vq_device_pop(&d->f.device, &d->f.guest, &d->f.chain), 0);
		return;
	}
	slot = d->order[0];
	assert_true(vq_device_has_avail(&d->f.device));
	assert_int_equal(fixture_pop(&d->f), slot);
	assert_int_equal(d->f.chain.count, d->known[slot].count);
	assert_int_equal(d->f.chain.nr_read, 1);
	assert_int_equal(d->f.chain.nr_write, d->known[slot].count - 1);
	assert_ptr_equal(d->f.chain.iov[0].iov_base, d->f.data + slot);
	forget_first(d->order, &d->added, 0);
	d->shown--;
	d->known[slot].at = TAKEN;
	d->taken[d->nr_taken++] = slot;
}

static void draw_push(struct drawn *d)
{
	unsigned int i, slot;

	if (!d->nr_taken)
		return;
	i = rng_below(&d->rng, d->nr_taken);
	slot = d->taken[i];
	forget_first(d->taken, &d->nr_taken, i);
	d->known[slot].at = RETURNED;
	d->known[slot].written = rng_below(&d->rng, 3);
	vq_packed_push(&d->f.device, slot, d->known[slot].count, d->known[slot].written);
	d->back[d->nr_back++] = slot;
}

static void draw_used(struct drawn *d)
{
	uint32_t slot, written;

	if (!d->nr_back_shown) {
		assert_false(vq_driver_has_used(&d->f.driver));
		assert_int_equal(vq_driver_next_used(&d->f.driver, &slot, &written), 0);
		return;
	}
	assert_true(vq_driver_has_used(&d->f.driver));
	slot = fixture_used(&d->f, &written);
	assert_int_equal(slot, d->back[0]);
	assert_int_equal(written, d->known[slot].written);
	forget_first(d->back, &d->nr_back, 0);
	d->nr_back_shown--;
	d->known[slot].at = FREE;
	d->free += d->known[slot].count;
}

static void run_drawn(unsigned int num, unsigned int start, unsigned int seed)
{
	struct drawn d = { .num = num, .free = num };
	unsigned int done = 0;

	fixture_init(&d.f, PACKED, num, false, false, start);
	rng_seed(&d.rng, seed);
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int before = d.nr_back;

		switch (rng_below(&d.rng, 6)) {
		case 0:
			draw_add(&d);
			break;
		case 1:
			vq_driver_publish(&d.f.driver);
			d.shown = d.added;
			break;
		case 2:
			draw_pop(&d);
			break;
		case 3:
			draw_push(&d);
			break;
		case 4:
			vq_device_publish(&d.f.device);
			d.nr_back_shown = d.nr_back;
			break;
		default:
			draw_used(&d);
			done += before - d.nr_back;
			break;
		}
	}
	assert_true(done > 100);
	fixture_free(&d.f);
}

/* Requests of 1 to 3 descriptors, returned in any order, each step at any time */
static void test_drawn(void **state)
{
	(void)state;
	for (unsigned int num = 1; num <= 17; num++)
		for (unsigned int start = 0; start < 2 * num; start += num > 4 ? num - 2 : 1)
			run_drawn(num, start, num);
	run_drawn(32, 31, 1);
}

static void test_resume(void **state)
{
	struct ring_fixture f;
	uint32_t written;

	(void)state;
	for (unsigned int start = 0; start < 14; start++) {
		fixture_init(&f, PACKED, 7, true, false, start);
		vq_driver_disable_calls(&f.driver);
		vq_device_disable_kicks(&f.device);
		submit(&f, 5);
		serve(&f);
		drain(&f);

		/* another driver finds the place, and calls as off as they were */
		memset(&f.driver.packed, 0xff, sizeof(f.driver.packed));
		vq_driver_init(&f.driver, true, f.mem, 7, true, f.count);
		assert_int_equal(f.driver.avail_idx, (start + 5) % 14);
		assert_int_equal(f.driver.last_used_idx, f.driver.avail_idx);
		assert_false(vq_driver_has_used(&f.driver));
		vq_device_start(&f.device, f.device.last_avail_idx, f.device.used_idx);
		assert_false(submit(&f, 3));
		for (unsigned int i = 0; i < 3; i++) {
			uint16_t id = fixture_pop(&f);

			vq_packed_push(&f.device, id, 1, 10 + i);
		}
		assert_false(vq_device_publish(&f.device));
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(fixture_used(&f, &written), i);
			assert_int_equal(written, 10 + i);
		}
		/* one left in flight is seen by whoever comes next */
		submit(&f, 1);
		vq_driver_init(&f.driver, true, f.mem, 7, true, f.count);
		assert_int_not_equal(f.driver.avail_idx, f.driver.last_used_idx);
		fixture_free(&f);
	}
}

static void expect_bad(uint16_t id)
{
	struct ring_fixture f;
	uint32_t slot, written;

	fixture_init(&f, PACKED, 8, false, false, 15);
	submit(&f, 2);
	fixture_pop(&f);
	vq_packed_push(&f.device, id, 1, 0);
	vq_device_publish(&f.device);
	assert_int_equal(vq_driver_next_used(&f.driver, &slot, &written), -EPROTO);
	fixture_free(&f);
}

static void test_bad_device(void **state)
{
	struct ring_fixture f;
	uint32_t slot, written;

	(void)state;
	expect_bad(2);		/* not in flight */
	expect_bad(8);		/* outside the queue */
	expect_bad(0xffff);
	/* the same one twice */
	fixture_init(&f, PACKED, 8, false, false, 7);
	submit(&f, 2);
	fixture_pop(&f);
	vq_packed_push(&f.device, 0, 1, 0);
	vq_packed_push(&f.device, 0, 1, 0);
	vq_device_publish(&f.device);
	assert_int_equal(fixture_used(&f, &written), 0);
	assert_int_equal(vq_driver_next_used(&f.driver, &slot, &written), -EPROTO);
	/* a place beside the ring that some device has overwritten */
	atomic_store(&f.driver.packed.place->avail, 0xffff);
	atomic_store(&f.driver.packed.place->used, 16);
	vq_driver_init(&f.driver, true, f.mem, 8, false, f.count);
	assert_true(f.driver.avail_idx < 16 && f.driver.last_used_idx < 16);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_bad_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
