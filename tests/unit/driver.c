/* SPDX-License-Identifier: GPL-2.0-only */
/* engines/driver/virtio-blk.c against the target's device, in one process */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <linux/virtio_config.h>
#include <cmocka.h>

#include "engines/driver/virtio-blk.h"
#include "targets/device/virtio-blk.h"
#include "wire/vq-device.h"

#define NUM	16
#define SIZE	(1u << 20)
#define MEMORY	(1u << 20)
#define GUEST	0x80000000ull

#define F(bit)	(1ull << (bit))

static struct {
	char *mem;
	char *buf;		/* data buffers, behind the queue */
	int kick_fd;
	struct blk_queue q;
	struct backend backend;
	struct blk_device dev;
	struct vq_device ring;
	struct guest_memory guest;
	struct iothread iothread;
	struct channel channel;
	struct vblk_request req;
} t;

static struct blk_shape shape_of(uint64_t features)
{
	return (struct blk_shape) { .num = NUM, .features = features, .segments = BLK_SEGMENTS_MAX };
}

static void start(uint64_t features)
{
	uint64_t user = (uintptr_t)t.mem;
	struct blk_shape shape = shape_of(features);
	struct vq_addresses at;
	struct vq_parts parts;

	memset(t.mem, 0, MEMORY);
	assert_int_equal(blk_queue_init(&t.q, t.mem, &shape, GUEST - user, t.kick_fd), 0);
	parts = vq_driver_parts(&t.q.ring);
	at = (struct vq_addresses) {
		(uintptr_t)parts.desc, (uintptr_t)parts.driver, (uintptr_t)parts.device
	};
	assert_int_equal(vq_device_init(&t.ring, &t.guest, features, NUM, &at), 0);
	assert_int_equal(vq_device_resume(&t.ring, vq_driver_base(&t.q.ring)), 0);
}

static int set_up(void **state)
{
	const struct backend_config config = { .ops = &ram_backend, .size = SIZE };
	const struct channel_config through = { 0 };
	const struct blk_shape shape = shape_of(0);

	(void)state;
	memset(&t, 0, sizeof(t));
	t.mem = aligned_alloc(4096, MEMORY);
	t.buf = t.mem + MEMORY / 2;
	assert_true(blk_queue_bytes(&shape) < MEMORY / 2);
	t.guest.nr = 1;
	t.guest.region[0] = (struct guest_region) {
		.guest = GUEST, .user = (uintptr_t)t.mem, .size = MEMORY, .host = t.mem
	};
	t.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (backend_open(&t.backend, &config) || channel_open(&t.channel, &t.iothread, &through))
		return -1;
	blk_device_init(&t.dev, &t.backend, 512, false, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	blk_queue_destroy(&t.q);
	backend_close(&t.backend);
	close(t.kick_fd);
	free(t.mem);
	return 0;
}

/* The device serves all there is */
static unsigned int serve(void)
{
	unsigned int n = 0;
	int ret;

	while ((ret = vq_device_pop(&t.ring, &t.guest, &t.req.chain)) == 1) {
		ret = vblk_submit(&t.req, &t.dev, &t.channel);
		assert_true(ret >= 0);
		*t.req.status_at = ret;
		vq_device_push(&t.ring, &t.req.chain, t.req.written);
		n++;
	}
	assert_int_equal(ret, 0);
	vq_device_publish(&t.ring);
	return n;
}

static void expect_done(uintptr_t tag, int err)
{
	void *got;
	int got_err;

	assert_int_equal(blk_queue_next(&t.q, &got, &got_err), 1);
	assert_int_equal((uintptr_t)got, tag);
	assert_int_equal(got_err, err);
}

static void expect_nothing(void)
{
	void *tag;
	int err;

	assert_int_equal(blk_queue_next(&t.q, &tag, &err), 0);
}

static void all_requests(uint64_t features)
{
	start(features);
	memset(t.buf, 0x5a, 4096);
	blk_queue_rw(&t.q, true, 8192, t.buf, 4096, (void *)1);
	blk_queue_rw(&t.q, false, 8192, t.buf + 8192, 4096, (void *)2);
	blk_queue_flush(&t.q, (void *)3);
	blk_queue_discard(&t.q, 8192, 1024, (void *)4);
	blk_queue_rw(&t.q, false, SIZE, t.buf, 512, (void *)5);
	assert_int_equal(blk_queue_submit(&t.q), 0);
	expect_nothing();
	assert_int_equal(serve(), 5);
	expect_done(1, 0);
	expect_done(2, 0);
	expect_done(3, 0);
	expect_done(4, 0);
	expect_done(5, EIO);
	expect_nothing();
	assert_memory_equal(t.buf, t.buf + 8192, 4096);
	assert_int_equal(t.backend.mem[8192], 0);
	assert_int_equal(t.backend.mem[8192 + 1023], 0);
	assert_int_equal(t.backend.mem[8192 + 1024], 0x5a);
	assert_int_equal(counter_get(&t.iothread.channel->stats.requests[REQ_FLUSH]), 1);

	/* the slot a flush had is the next read's: header-only and data chains alternate */
	for (unsigned int i = 0; i < 100; i++) {
		blk_queue_flush(&t.q, (void *)1);
		blk_queue_submit(&t.q);
		assert_int_equal(serve(), 1);
		expect_done(1, 0);
		blk_queue_rw(&t.q, false, 512 * i, t.buf, 512, (void *)2);
		blk_queue_submit(&t.q);
		assert_int_equal(serve(), 1);
		expect_done(2, 0);
		assert_memory_equal(t.buf, t.backend.mem + 512 * i, 512);
	}
}

static void test_direct(void **state)
{
	(void)state;
	all_requests(0);
	assert_int_equal(t.q.nr_slots, NUM / VQ_CHAIN);
}

static void test_indirect(void **state)
{
	(void)state;
	all_requests(F(VIRTIO_RING_F_INDIRECT_DESC));
	assert_int_equal(t.q.nr_slots, NUM);
}

static void test_event_idx(void **state)
{
	(void)state;
	all_requests(F(VIRTIO_RING_F_INDIRECT_DESC) | F(VIRTIO_RING_F_EVENT_IDX));
}

static void test_packed_direct(void **state)
{
	(void)state;
	all_requests(F(VIRTIO_F_RING_PACKED));
	assert_int_equal(t.q.nr_slots, NUM / VQ_CHAIN);
}

static void test_packed_indirect(void **state)
{
	(void)state;
	all_requests(F(VIRTIO_F_RING_PACKED) | F(VIRTIO_RING_F_INDIRECT_DESC));
	assert_int_equal(t.q.nr_slots, NUM);
}

static void test_packed_event_idx(void **state)
{
	(void)state;
	all_requests(F(VIRTIO_F_RING_PACKED) | F(VIRTIO_RING_F_EVENT_IDX));
}

/* Pieces of memory in any order, as many as a request can have */
static void several_segments(uint64_t features)
{
	struct iovec iov[BLK_SEGMENTS_MAX];

	start(features);
	for (unsigned int n = 1; n <= BLK_SEGMENTS_MAX; n += n < 5 ? 1 : 60) {
		for (unsigned int i = 0; i < n; i++) {
			iov[i] = (struct iovec) { t.buf + 512 * (n - 1 - i), 512 };
			memset(iov[i].iov_base, (int)(n + i), 512);
		}
		blk_queue_rwv(&t.q, true, 65536, iov, n, (void *)7);
		blk_queue_flush(&t.q, (void *)8);
		blk_queue_submit(&t.q);
		assert_int_equal(serve(), 2);
		expect_done(7, 0);
		expect_done(8, 0);
		for (unsigned int i = 0; i < n; i++)
			assert_int_equal((uint8_t)t.backend.mem[65536 + 512 * i], (uint8_t)(n + i));
		memset(t.buf, 0, 512 * n);
		blk_queue_rwv(&t.q, false, 65536, iov, n, (void *)9);
		blk_queue_submit(&t.q);
		assert_int_equal(serve(), 1);
		expect_done(9, 0);
		for (unsigned int i = 0; i < n; i++)
			assert_memory_equal(iov[i].iov_base, t.backend.mem + 65536 + 512 * i, 512);
	}
	blk_queue_destroy(&t.q);
}

static void test_several_segments(void **state)
{
	(void)state;
	several_segments(F(VIRTIO_RING_F_INDIRECT_DESC));
	several_segments(F(VIRTIO_RING_F_INDIRECT_DESC) | F(VIRTIO_F_RING_PACKED));
	start(0);
}

static void fill_queue(uint64_t features)
{
	start(features);
	for (unsigned int round = 0; round < 3; round++) {
		for (uintptr_t i = 0; i < NUM; i++)
			blk_queue_rw(&t.q, false, 512 * i, t.buf + 512 * i, 512, (void *)i);
		assert_int_equal(t.q.nr_free, 0);
		blk_queue_submit(&t.q);
		assert_int_equal(serve(), NUM);
		for (uintptr_t i = 0; i < NUM; i++)
			expect_done(i, 0);
		assert_int_equal(t.q.nr_free, NUM);
	}
	blk_queue_destroy(&t.q);
}

static void test_full_queue(void **state)
{
	(void)state;
	fill_queue(F(VIRTIO_RING_F_INDIRECT_DESC));
	fill_queue(F(VIRTIO_RING_F_INDIRECT_DESC) | F(VIRTIO_F_RING_PACKED));
	start(0);
}

static uint64_t kicks(void)
{
	uint64_t n = 0;

	if (read(t.kick_fd, &n, sizeof(n)) < 0)
		return 0;
	return n;
}

static void test_one_kick_a_batch(void **state)
{
	(void)state;
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	for (unsigned int i = 0; i < 5; i++)
		blk_queue_flush(&t.q, NULL);
	assert_int_equal(kicks(), 0);
	blk_queue_submit(&t.q);
	assert_int_equal(kicks(), 1);
	/* nothing new, no kick */
	blk_queue_submit(&t.q);
	assert_int_equal(kicks(), 0);
	/* and none when the device says so */
	vq_device_disable_kicks(&t.ring);
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	assert_int_equal(kicks(), 0);
	assert_int_equal(t.q.stats.kicks, 1);
	assert_int_equal(t.q.stats.batches, 2);
}

static void test_kick_counter_full(void **state)
{
	uint64_t most = UINT64_MAX - 1;

	(void)state;
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	assert_int_equal(write(t.kick_fd, &most, sizeof(most)), sizeof(most));
	blk_queue_flush(&t.q, NULL);
	assert_int_equal(blk_queue_submit(&t.q), 0);
	t.q.kick_fd = -1;
	blk_queue_flush(&t.q, NULL);
	assert_int_equal(blk_queue_submit(&t.q), -EBADF);
}

static void give_back(uint16_t id)
{
	const struct vq_chain c = { .head = id, .count = 1 };

	vq_device_push(&t.ring, &c, 0);
}

/* What a broken device may return: another slot than was queued, and so on */
static void expect_bad(uint64_t features, uint16_t id)
{
	void *tag;
	int err;

	start(features);
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	give_back(id);
	vq_device_publish(&t.ring);
	assert_int_equal(blk_queue_next(&t.q, &tag, &err), -EPROTO);
	blk_queue_destroy(&t.q);
}

static void test_bad_completions(void **state)
{
	void *tag;
	int err;

	(void)state;
	expect_bad(0, 1);		/* inside the chain of slot 0 */
	expect_bad(0, 3);		/* a slot that is not in flight */
	expect_bad(0, NUM - 1);		/* a descriptor no slot has */
	expect_bad(F(VIRTIO_RING_F_INDIRECT_DESC), 1);
	expect_bad(F(VIRTIO_RING_F_INDIRECT_DESC), NUM);
	expect_bad(F(VIRTIO_F_RING_PACKED), 1);
	expect_bad(F(VIRTIO_F_RING_PACKED), NUM / VQ_CHAIN);
	expect_bad(F(VIRTIO_F_RING_PACKED) | F(VIRTIO_RING_F_INDIRECT_DESC), NUM);

	/* the same one twice */
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	serve();
	give_back(0);
	vq_device_publish(&t.ring);
	expect_done(0, 0);
	assert_int_equal(blk_queue_next(&t.q, &tag, &err), -EPROTO);
}

static void test_statuses(void **state)
{
	static const struct { uint8_t status; int err; } cases[] = {
		{ VIRTIO_BLK_S_OK, 0 }, { VIRTIO_BLK_S_IOERR, EIO },
		{ VIRTIO_BLK_S_UNSUPP, EOPNOTSUPP }, { 3, EIO }, { 0xff, EIO },
	};

	(void)state;
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		blk_queue_flush(&t.q, NULL);
		blk_queue_submit(&t.q);
		assert_int_equal(vq_device_pop(&t.ring, &t.guest, &t.req.chain), 1);
		*(uint8_t *)t.req.chain.iov[t.req.chain.nr_read].iov_base = cases[i].status;
		vq_device_push(&t.ring, &t.req.chain, 1);
		vq_device_publish(&t.ring);
		expect_done(0, cases[i].err);
	}
}

static void test_stuck(void **state)
{
	(void)state;
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	assert_false(blk_queue_stuck(&t.q, 0, false));
	t.q.age = UINT32_MAX - 1;
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	t.q.age += 3;
	assert_false(blk_queue_stuck(&t.q, 3, false));
	assert_true(blk_queue_stuck(&t.q, 2, false));
	serve();
	expect_done(0, 0);
	assert_false(blk_queue_stuck(&t.q, 0, false));
}

static void test_stuck_though_taken_over(void **state)
{
	(void)state;
	start(F(VIRTIO_RING_F_INDIRECT_DESC));
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	t.q.age += 5;
	/* The first device is gone: what no other has taken over is excused until one has. */
	assert_false(blk_queue_stuck(&t.q, 3, true));
	assert_true(blk_queue_stuck(&t.q, 3, false));
	blk_queue_renew(&t.q);
	assert_false(blk_queue_stuck(&t.q, 3, false));
	/* Another is as slow, goes, and comes back: that is no progress. */
	t.q.age += 4;
	assert_true(blk_queue_stuck(&t.q, 3, true));
	blk_queue_renew(&t.q);
	assert_true(blk_queue_stuck(&t.q, 3, false));
	serve();
	expect_done(0, 0);
	/* A new request in the same slot begins anew. */
	blk_queue_flush(&t.q, NULL);
	blk_queue_submit(&t.q);
	t.q.age += 4;
	assert_false(blk_queue_stuck(&t.q, 3, true));
	serve();
	expect_done(0, 0);
}

static void hand_on(uint64_t features)
{
	uint64_t guest_offset = GUEST - (uintptr_t)t.mem;
	struct blk_shape shape = shape_of(features);
	struct blk_queue second;

	start(features);
	blk_queue_flush(&t.q, (void *)1);
	blk_queue_submit(&t.q);
	/* one left in flight: nobody knows where its data would go */
	assert_int_equal(blk_queue_init(&second, t.mem, &shape, guest_offset, t.kick_fd), -EBUSY);
	serve();
	expect_done(1, 0);
	blk_queue_destroy(&t.q);
	assert_int_equal(blk_queue_init(&t.q, t.mem, &shape, guest_offset, t.kick_fd), 0);
	blk_queue_flush(&t.q, (void *)2);
	blk_queue_submit(&t.q);
	assert_int_equal(serve(), 1);
	expect_done(2, 0);
	blk_queue_destroy(&t.q);
}

static void test_next_owner(void **state)
{
	(void)state;
	hand_on(F(VIRTIO_RING_F_INDIRECT_DESC));
	hand_on(F(VIRTIO_RING_F_INDIRECT_DESC) | F(VIRTIO_F_RING_PACKED));
	start(0);
}

static void test_limits(void **state)
{
	struct virtio_blk_config c = {
		.capacity = htole64(100), .size_max = htole32(10000), .blk_size = htole32(4096),
		.max_discard_sectors = htole32(UINT32_MAX),
	};
	struct blk_limits l;

	(void)state;
	/* a field counts only with its feature */
	blk_limits_read(&l, &c, 0);
	assert_int_equal(l.capacity, 51200);
	assert_int_equal(l.block_size, 512);
	assert_int_equal(l.max_transfer, 1 << 30);
	assert_int_equal(l.max_segments, 1);
	assert_int_equal(l.max_discard, 0);
	assert_false(l.flush || l.read_only);

	blk_limits_read(&l, &c, F(VIRTIO_BLK_F_SIZE_MAX) | F(VIRTIO_BLK_F_BLK_SIZE) |
			F(VIRTIO_BLK_F_DISCARD) | F(VIRTIO_BLK_F_FLUSH) | F(VIRTIO_BLK_F_RO));
	assert_int_equal(l.block_size, 4096);
	assert_int_equal(l.max_transfer, 8192);
	assert_int_equal(l.max_discard, 1 << 30);
	assert_true(l.flush && l.read_only);

	c.seg_max = htole32(77);
	blk_limits_read(&l, &c, F(VIRTIO_BLK_F_SEG_MAX));
	assert_int_equal(l.max_segments, 77);

	/* qemu-storage-daemon offers the feature with 0, meaning no limit */
	c.size_max = 0;
	blk_limits_read(&l, &c, F(VIRTIO_BLK_F_SIZE_MAX));
	assert_int_equal(l.max_transfer, 1 << 30);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_direct),
		TEST(test_indirect),
		TEST(test_event_idx),
		TEST(test_packed_direct),
		TEST(test_packed_indirect),
		TEST(test_packed_event_idx),
		TEST(test_several_segments),
		TEST(test_full_queue),
		TEST(test_one_kick_a_batch),
		TEST(test_kick_counter_full),
		TEST(test_bad_completions),
		TEST(test_statuses),
		TEST(test_stuck),
		TEST(test_stuck_though_taken_over),
		TEST(test_next_owner),
		TEST(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
