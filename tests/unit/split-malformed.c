/* SPDX-License-Identifier: GPL-2.0-only */
/* Split rings: what a broken or hostile driver may put into a ring */

#include <errno.h>

#include "tests/unit/ring-fixture.h"

#define NUM	8

/* One shape of a ring that is wrong; descriptor addresses count from the data area */
struct shape {
	const char *name;
	int ret;
	struct vring_desc ring[4];	/* the chain starts at 0 */
	struct vring_desc table[4];	/* at offset 0 of the data area */
	bool no_indirect;
};

#define N	VRING_DESC_F_NEXT
#define W	VRING_DESC_F_WRITE
#define I	VRING_DESC_F_INDIRECT
#define FAR	(FIXTURE_BYTES * 2ull)	/* outside the memory */

static const struct shape shapes[] = {
	{ "one segment", 1, .ring = { { 512, 16, 0, 0 } } },
	{ "next is ignored without NEXT", 1, .ring = { { 512, 16, 0, 0xffff } } },
	{ "unknown flags are ignored", 1, .ring = { { 512, 16, 0x8000, 0 } } },
	{ "loop of one", -ELOOP, .ring = { { 512, 16, N, 0 } } },
	{ "loop of two", -ELOOP, .ring = { { 512, 16, N, 1 }, { 512, 16, N, 0 } } },
	{ "loop behind a head", -ELOOP,
	  .ring = { { 512, 16, N, 1 }, { 512, 16, N, 2 }, { 512, 16, N, 1 } } },
	{ "loop of device-writable segments", -ELOOP, .ring = { { 512, 16, N | W, 0 } } },
	{ "next outside the queue", -ERANGE, .ring = { { 512, 16, N, NUM } } },
	{ "next far outside the queue", -ERANGE, .ring = { { 512, 16, N, 0xffff } } },
	{ "empty segment", -EINVAL, .ring = { { 512, 0, 0, 0 } } },
	{ "empty segment at the end", -EINVAL, .ring = { { 512, 1, N, 1 }, { 512, 0, W, 0 } } },
	{ "read after write", -EINVAL, .ring = { { 512, 1, N | W, 1 }, { 512, 1, 0, 0 } } },
	{ "address outside the memory", -EFAULT, .ring = { { FAR, 16, 0, 0 } } },
	{ "address 0", -EFAULT, .ring = { { -FIXTURE_GUEST, 16, 0, 0 } } },
	{ "segment past the end", -EFAULT, .ring = { { FIXTURE_BYTES - 65536, 1 << 20, 0, 0 } } },
	{ "segment of 4 GiB", -EFAULT, .ring = { { 512, UINT32_MAX, W, 0 } } },
	{ "address that wraps", -EFAULT, .ring = { { -16 - FIXTURE_GUEST, 4096, W, 0 } } },

	{ "table", 1, .ring = { { 0, 16, I, 0 } }, .table = { { 512, 16, 0, 0 } } },
	{ "table whose descriptor has WRITE", 1, .ring = { { 0, 16, I | W, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "indirect not negotiated", -EINVAL, .ring = { { 0, 16, I, 0 } },
	  .table = { { 512, 16, 0, 0 } }, .no_indirect = true },
	{ "indirect and NEXT", -EINVAL, .ring = { { 0, 16, I | N, 1 }, { 512, 16, 0, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "table in a table", -EINVAL, .ring = { { 0, 32, I, 0 } },
	  .table = { { 512, 16, N, 1 }, { 0, 16, I, 0 } } },
	{ "table in a table at once", -EINVAL, .ring = { { 0, 16, I, 0 } },
	  .table = { { 0, 16, I, 0 } } },
	{ "table of odd length", -EINVAL, .ring = { { 0, 24, I, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "table shorter than an entry", -EINVAL, .ring = { { 0, 8, I, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "empty table", -EINVAL, .ring = { { 0, 0, I, 0 } }, .table = { { 512, 16, 0, 0 } } },
	{ "table outside the memory", -EFAULT, .ring = { { FAR, 16, I, 0 } } },
	{ "table that ends outside", -EFAULT, .ring = { { FIXTURE_BYTES - 65536, 1 << 19, I, 0 } } },
	{ "table of more than 65536 entries", -EINVAL, .ring = { { 0, 65537 * 16, I, 0 } },
	  .table = { { 512, 16, 0, 0 } } },
	{ "loop in a table", -ELOOP, .ring = { { 0, 32, I, 0 } },
	  .table = { { 512, 16, N, 1 }, { 512, 16, N, 0 } } },
	{ "next outside the table", -ERANGE, .ring = { { 0, 32, I, 0 } },
	  .table = { { 512, 16, N, 2 }, { 512, 16, 0, 0 }, { 512, 16, 0, 0 } } },
	{ "next inside the queue, outside the table", -ERANGE, .ring = { { 0, 16, I, 0 } },
	  .table = { { 512, 16, N, 1 }, { 512, 16, 0, 0 } } },
};

static void put(struct ring_fixture *f, struct vring_desc *to, const struct vring_desc *from)
{
	to->addr = htole64(fixture_guest(f, f->data) + from->addr);
	to->len = htole32(from->len);
	to->flags = htole16(from->flags);
	to->next = htole16(from->next);
}

static void show(struct ring_fixture *f, uint16_t head, uint16_t count)
{
	uint16_t idx = f->driver.avail_idx;

	ring_store16(&f->driver.split.avail->ring[idx % NUM], head, memory_order_relaxed);
	ring_store16(&f->driver.split.avail->idx, idx + count, memory_order_release);
}

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];
		struct ring_fixture f;
		int ret;

		/* near the wrap, where an index is easily taken for another */
		fixture_init(&f, SPLIT, NUM, i % 2, !s->no_indirect, 65535 - i % 3);
		for (unsigned int j = 0; j < 4; j++) {
			put(&f, &f.driver.split.desc[j], &s->ring[j]);
			put(&f, &((struct vring_desc *)f.data)[j], &s->table[j]);
		}
		show(&f, 0, 1);
		ret = vq_device_pop(&f.device, &f.guest, &f.chain);
		if (ret != s->ret)
			fail_msg("%s: %d, not %d", s->name, ret, s->ret);
		fixture_free(&f);
	}
}

static void expect_head(uint16_t head, uint16_t count, int ret)
{
	struct ring_fixture f;

	fixture_init(&f, SPLIT, NUM, false, false, 65530);
	for (unsigned int i = 0; i < NUM; i++)
		put(&f, &f.driver.split.desc[i], &(struct vring_desc) { 512, 16, 0, 0 });
	show(&f, head, count);
	assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), ret);
	fixture_free(&f);
}

static void test_heads_and_jumps(void **state)
{
	(void)state;
	expect_head(NUM - 1, 1, 1);
	expect_head(NUM, 1, -ERANGE);
	expect_head(0xffff, 1, -ERANGE);
	expect_head(0, NUM, 1);
	expect_head(0, NUM + 1, -ERANGE);
	expect_head(0, 0x8000, -ERANGE);
	expect_head(0, 0xffff, -ERANGE);	/* backwards */
}

static void test_too_many_segments(void **state)
{
	struct ring_fixture f;
	struct vring_desc *table;

	(void)state;
	for (unsigned int n = VQ_IOV_MAX; n <= VQ_IOV_MAX + 1; n++) {
		fixture_init(&f, SPLIT, NUM, false, true, 0);
		table = (struct vring_desc *)f.data;
		for (unsigned int i = 0; i < n; i++)
			put(&f, &table[i], &(struct vring_desc) { 8192, 512, i + 1 < n ? N : 0, i + 1 });
		vq_driver_add_indirect(&f.driver, 0, fixture_guest(&f, table), n);
		vq_driver_publish(&f.driver);
		assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain),
				 n <= VQ_IOV_MAX ? 1 : -E2BIG);
		fixture_free(&f);
	}
}

/* Neighbours in guest memory, far apart here: a segment over both is two pieces */
static void test_segment_over_regions(void **state)
{
	static char second[4096];
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, SPLIT, NUM, false, true, 0);
	f.guest.region[f.guest.nr++] = (struct guest_region) {
		.guest = FIXTURE_GUEST + FIXTURE_BYTES,
		.user = 0x1000,
		.size = sizeof(second),
		.host = second,
	};
	f.driver.split.desc[0] = (struct vring_desc) {
		.addr = htole64(FIXTURE_GUEST + FIXTURE_BYTES - 100),
		.len = htole32(300),
		.flags = htole16(W),
	};
	show(&f, 0, 1);
	fixture_pop(&f);
	assert_int_equal(f.chain.nr_write, 2);
	assert_ptr_equal(f.chain.iov[0].iov_base, f.mem + FIXTURE_BYTES - 100);
	assert_int_equal(f.chain.iov[0].iov_len, 100);
	assert_ptr_equal(f.chain.iov[1].iov_base, second);
	assert_int_equal(f.chain.iov[1].iov_len, 200);
	fixture_free(&f);

	/* a table must be in one piece */
	fixture_init(&f, SPLIT, NUM, false, true, 0);
	f.guest.region[0].size -= 4096;
	f.guest.region[f.guest.nr++] = (struct guest_region) {
		.guest = FIXTURE_GUEST + FIXTURE_BYTES - 4096,
		.user = 0x1000,
		.size = sizeof(second),
		.host = second,
	};
	f.driver.split.desc[0] = (struct vring_desc) {
		.addr = htole64(FIXTURE_GUEST + FIXTURE_BYTES - 4096 - 16),
		.len = htole32(32),
		.flags = htole16(I),
	};
	show(&f, 0, 1);
	assert_int_equal(vq_device_pop(&f.device, &f.guest, &f.chain), -EFAULT);
	fixture_free(&f);
}

static void test_ring_places(void **state)
{
	const uint64_t avail = FIXTURE_USER + 4096, used = FIXTURE_USER + 8192;
	const uint64_t end = FIXTURE_USER + FIXTURE_BYTES;
	struct ring_fixture f;

	(void)state;
	fixture_init(&f, SPLIT, NUM, false, false, 0);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, avail, used), 0);
	/* each part on its alignment */
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER + 8, avail, used), -EFAULT);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, avail + 1, used), -EFAULT);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, avail, used + 2), -EFAULT);
	/* each part whole in the memory, the event index at its end too */
	assert_int_equal(fixture_place(&f, SPLIT, NUM, end - 16 * NUM, avail, used), 0);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, end - 16 * NUM + 16, avail, used), -EFAULT);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, end - 6 - 2 * NUM, used), 0);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, end - 4 - 2 * NUM, used), -EFAULT);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, avail, end - 8 - 8 * NUM), 0);
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_USER, avail, end - 4 - 8 * NUM), -EFAULT);
	/* a guest address is no front-end address */
	assert_int_equal(fixture_place(&f, SPLIT, NUM, FIXTURE_GUEST, avail, used), -EFAULT);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_heads_and_jumps),
		cmocka_unit_test(test_too_many_segments),
		cmocka_unit_test(test_segment_over_regions),
		cmocka_unit_test(test_ring_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
