/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed rings: what a broken or hostile driver may put into a ring */

#include <errno.h>

#include "tests/unit/ring-fixture.h"

#define NUM	4

#define N	VRING_DESC_F_NEXT
#define W	VRING_DESC_F_WRITE
#define I	VRING_DESC_F_INDIRECT
#define FAR	(FIXTURE_BYTES * 2ull)	/* outside the memory */

/* One shape of a ring; descriptor addresses count from the data area */
struct shape {
	const char *name;
	int ret;
	struct vring_packed_desc ring[NUM];	/* flags without those of the position */
	struct vring_packed_desc table[4];	/* at offset 0 of the data area */
	bool no_indirect;
};

static const struct shape shapes[] = {
	{ "one segment", 1, .ring = { { 512, 16, 0, 0 } } },
	{ "any buffer id", 1, .ring = { { 512, 16, 0xffff, 0 } } },
	{ "unknown flags are ignored", 1, .ring = { { 512, 16, 0, 0x7f78 } } },
	{ "as many as the queue has", 1,
	  .ring = { { 512, 1, 0, N }, { 512, 1, 0, N }, { 512, 1, 0, N | W }, { 512, 1, 0, W } } },
	{ "more than the queue has", -ELOOP,
	  .ring = { { 512, 1, 0, N }, { 512, 1, 0, N }, { 512, 1, 0, N }, { 512, 1, 0, N } } },
	{ "empty segment", -EINVAL, .ring = { { 512, 0, 0, 0 } } },
	{ "empty segment at the end", -EINVAL, .ring = { { 512, 1, 0, N }, { 512, 0, 0, W } } },
	{ "read after write", -EINVAL, .ring = { { 512, 1, 0, N | W }, { 512, 1, 0, 0 } } },
	{ "address outside the memory", -EFAULT, .ring = { { FAR, 16, 0, 0 } } },
	{ "address 0", -EFAULT, .ring = { { -FIXTURE_GUEST, 16, 0, 0 } } },
	{ "segment past the end", -EFAULT, .ring = { { FIXTURE_BYTES - 65536, 1 << 20, 0, 0 } } },
	{ "segment of 4 GiB", -EFAULT, .ring = { { 512, UINT32_MAX, 0, W } } },
	{ "address that wraps", -EFAULT, .ring = { { -16 - FIXTURE_GUEST, 4096, 0, W } } },

	{ "table", 1, .ring = { { 0, 16, 0, I } }, .table = { { 512, 16, 0, 0 } } },
	{ "table whose descriptor has WRITE", 1, .ring = { { 0, 16, 0, I | W } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "table with flags that say nothing there", 1, .ring = { { 0, 32, 0, I } },
	  .table = { { 512, 16, 9, I }, { 512, 16, 9, N | W } } },
	{ "indirect not negotiated", -EINVAL, .ring = { { 0, 16, 0, I } },
	  .table = { { 512, 16, 0, 0 } }, .no_indirect = true },
	{ "indirect and NEXT", -EINVAL, .ring = { { 0, 16, 0, I | N }, { 512, 16, 0, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "a list that ends in a table", -EINVAL, .ring = { { 512, 16, 0, N }, { 0, 16, 0, I } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "table of odd length", -EINVAL, .ring = { { 0, 24, 0, I } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "table shorter than an entry", -EINVAL, .ring = { { 0, 8, 0, I } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "empty table", -EINVAL, .ring = { { 0, 0, 0, I } }, .table = { { 512, 16, 0, 0 } } },
	{ "table outside the memory", -EFAULT, .ring = { { FAR, 16, 0, I } } },
	{ "table that ends outside", -EFAULT, .ring = { { FIXTURE_BYTES - 65536, 1 << 19, 0, I } } },
	{ "empty segment in a table", -EINVAL, .ring = { { 0, 32, 0, I } },
	  .table = { { 512, 16, 0, 0 }, { 512, 0, 0, W } } },
	{ "read after write in a table", -EINVAL, .ring = { { 0, 32, 0, I } },
	  .table = { { 512, 16, 0, W }, { 512, 16, 0, 0 } } },
};

static void put(struct ring_fixture *f, struct vring_packed_desc *to,
		const struct vring_packed_desc *from, uint16_t flags)
{
	to->addr = htole64(fixture_guest(f, f->data) + from->addr);
	to->len = htole32(from->len);
	to->id = htole16(from->id);
	to->flags = htole16(from->flags | flags);
}

static void put_at(struct ring_fixture *f, unsigned int pos, const struct vring_packed_desc *from)
{
	put(f, &f->driver.packed.desc[packed_index(pos, NUM)], from, packed_avail_flags(pos, NUM));
}

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];

		for (unsigned int start = 0; start < 2 * NUM; start++) {
			struct ring_fixture f;
			int ret;

			fixture_init(&f, PACKED, NUM, i % 2, !s->no_indirect, start);
			for (unsigned int j = 0; j < NUM; j++) {
				put_at(&f, packed_advance(start, j, NUM), &s->ring[j]);
				put(&f, &((struct vring_packed_desc *)f.data)[j], &s->table[j], 0);
			}
			ret = vq_device_pop(&f.device, &f.guest, &f.chain);
			if (ret != s->ret)
				fail_msg("%s at %u: %d, not %d", s->name, start, ret, s->ret);
			/* what was refused has not been taken */
			assert_int_equal(f.device.last_avail_idx, ret == 1 ?
					 packed_advance(start, f.chain.count, NUM) : start);
			fixture_free(&f);
		}
	}
}

/* The pair of flags at a position: one of four makes a descriptor available there */
static void test_flags(void **state)
{
	static const uint16_t pairs[] = { 0, PACKED_AVAIL, PACKED_USED, PACKED_AVAIL | PACKED_USED };

	(void)state;
	for (unsigned int start = 0; start < 2 * NUM; start++) {
		for (unsigned int i = 0; i < 4; i++) {
			struct ring_fixture f;

			fixture_init(&f, PACKED, NUM, false, false, start);
			put(&f, &f.driver.packed.desc[start % NUM],
			    &(struct vring_packed_desc) { 512, 16, 0, 0 }, pairs[i]);
			assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain),
					 pairs[i] == (start < NUM ? PACKED_AVAIL : PACKED_USED));
			fixture_free(&f);
		}
	}
}

/* A driver that makes descriptors available which the device has not given back */
static void test_overrun(void **state)
{
	static const struct vring_packed_desc one = { 512, 16, 0, 0 }, more = { 512, 16, 0, N };

	(void)state;
	for (unsigned int start = 0; start < 2 * NUM; start++) {
		struct ring_fixture f;

		fixture_init(&f, PACKED, NUM, false, false, start);
		for (unsigned int i = 0; i < NUM - 1; i++)
			put_at(&f, packed_advance(start, i, NUM), &one);
		for (unsigned int i = 0; i < NUM - 1; i++)
			fixture_pop(&f);
		/* one is free, so a list of two is one too many */
		put_at(&f, packed_advance(start, NUM - 1, NUM), &more);
		put_at(&f, packed_advance(start, NUM, NUM), &one);
		assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), -EOVERFLOW);
		put_at(&f, packed_advance(start, NUM - 1, NUM), &one);
		fixture_pop(&f);
		/* none is */
		assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), -EOVERFLOW);
		vq_packed_push(&f.device, 0, 1, 0);
		vq_device_publish(&f.device);
		put_at(&f, packed_advance(start, NUM, NUM), &one);
		fixture_pop(&f);
		fixture_free(&f);
	}
}

static void test_too_many_segments(void **state)
{
	struct ring_fixture f;
	struct vring_packed_desc *table;

	(void)state;
	for (unsigned int n = VQ_IOV_MAX; n <= VQ_IOV_MAX + 1; n++) {
		fixture_init(&f, PACKED, NUM, false, true, 0);
		table = (struct vring_packed_desc *)f.data;
		for (unsigned int i = 0; i < n; i++)
			put(&f, &table[i], &(struct vring_packed_desc) { 8192, 512, 0, 0 }, 0);
		vq_driver_add_indirect(&f.driver, 0, fixture_guest(&f, table), n);
		vq_driver_publish(&f.driver);
		assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain),
				 n <= VQ_IOV_MAX ? 1 : -E2BIG);
		fixture_free(&f);
	}
}

static void test_ring_places(void **state)
{
	const uint64_t driver = FIXTURE_USER + 4096, device = FIXTURE_USER + 8192;
	const uint64_t end = FIXTURE_USER + FIXTURE_BYTES;
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, PACKED, NUM, false, false, 0);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, driver, device), 0);
	/* each part on its alignment */
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER + 8, driver, device), -EFAULT);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, driver + 2, device), -EFAULT);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, driver, device + 2), -EFAULT);
	/* each part whole in the memory */
	assert_int_equal(fixture_place(&f, PACKED, NUM, end - 16 * NUM, driver, device), 0);
	assert_int_equal(fixture_place(&f, PACKED, NUM, end - 16 * NUM + 16, driver, device), -EFAULT);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, end - 4, device), 0);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, end, device), -EFAULT);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, driver, end - 4), 0);
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_USER, driver, end), -EFAULT);
	/* a guest address is no front-end address */
	assert_int_equal(fixture_place(&f, PACKED, NUM, FIXTURE_GUEST, driver, device), -EFAULT);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_too_many_segments),
		cmocka_unit_test(test_ring_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
