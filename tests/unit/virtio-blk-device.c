/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/device/virtio-blk.c: every request type, its checks and its status */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/virtio_config.h>
#include <cmocka.h>

#include "targets/device/virtio-blk.h"

#define SIZE	(1u << 20)
#define SECTORS	(SIZE / 512)

static struct backend backend;
static struct blk_device dev;
static struct iothread iothread;
static struct channel channel;
static struct vblk_request req;
static struct virtio_blk_outhdr hdr;
static uint8_t data[65536];
static uint8_t status_byte;

static void use_device(uint32_t block_size, bool read_only)
{
	blk_device_init(&dev, &backend, block_size, read_only, 4);
}

static int set_up(void **state)
{
	const struct backend_config config = { .ops = &ram_backend, .size = SIZE };
	const struct channel_config through = { 0 };

	(void)state;
	memset(&iothread.stats, 0, sizeof(iothread.stats));
	memset(data, 0, sizeof(data));
	if (backend_open(&backend, &config))
		return -1;
	for (unsigned int i = 0; i < SIZE; i++)
		backend.mem[i] = (char)(i / 512 + i);
	use_device(512, false);
	return channel_open(&channel, &iothread, &through);
}

static int tear_down(void **state)
{
	(void)state;
	backend_close(&backend);
	return 0;
}

static void start_chain(uint32_t type, uint64_t sector)
{
	hdr = (struct virtio_blk_outhdr) { .type = htole32(type), .sector = htole64(sector) };
	req.chain = (struct vq_chain) { 0 };
}

static void piece(void *base, size_t len, bool device_writes)
{
	req.chain.iov[req.chain.nr_read + req.chain.nr_write] = (struct iovec) { base, len };
	if (device_writes)
		req.chain.nr_write++;
	else
		req.chain.nr_read++;
}

static int execute(void)
{
	return vblk_submit(&req, &dev, &channel);
}

/* Header, data, status, each in a piece of its own */
static int request(uint32_t type, uint64_t sector, size_t len, bool device_writes)
{
	start_chain(type, sector);
	piece(&hdr, sizeof(hdr), false);
	if (len)
		piece(data, len, device_writes);
	piece(&status_byte, 1, true);
	return execute();
}

static void test_read(void **state)
{
	(void)state;
	assert_int_equal(request(VIRTIO_BLK_T_IN, 3, 4096, true), VIRTIO_BLK_S_OK);
	assert_memory_equal(data, backend.mem + 3 * 512, 4096);
	assert_int_equal(req.written, 4097);
	assert_ptr_equal(req.status_at, &status_byte);
	assert_int_equal(counter_get(&iothread.channel->stats.requests[REQ_READ]), 1);
	assert_int_equal(counter_get(&iothread.channel->stats.bytes[REQ_READ]), 4096);
	assert_int_equal(counter_get(&iothread.channel->stats.errors), 0);
}

static void test_write(void **state)
{
	(void)state;
	memset(data, 0xa5, 1024);
	assert_int_equal(request(VIRTIO_BLK_T_OUT, SECTORS - 2, 1024, false), VIRTIO_BLK_S_OK);
	assert_memory_equal(data, backend.mem + SIZE - 1024, 1024);
	assert_int_equal(req.written, 1);
	assert_int_equal(counter_get(&iothread.channel->stats.bytes[REQ_WRITE]), 1024);
}

/* The checks on the range are the same for both */
static void test_ranges(void **state)
{
	static const struct {
		uint64_t sector;
		size_t len;
		int status;
	} cases[] = {
		{ SECTORS - 1, 512, VIRTIO_BLK_S_OK },
		{ SECTORS - 1, 1024, VIRTIO_BLK_S_IOERR },
		{ SECTORS, 512, VIRTIO_BLK_S_IOERR },
		{ SECTORS + 1, 512, VIRTIO_BLK_S_IOERR },
		{ UINT64_MAX, 512, VIRTIO_BLK_S_IOERR },
		/* sectors whose byte offset wraps around to 0 */
		{ 1ull << 55, 512, VIRTIO_BLK_S_IOERR },
		{ UINT64_MAX / 512, 512, VIRTIO_BLK_S_IOERR },
		{ 0, 0, VIRTIO_BLK_S_IOERR },
		{ 0, 511, VIRTIO_BLK_S_IOERR },
		{ 0, 513, VIRTIO_BLK_S_IOERR },
		{ 0, sizeof(data), VIRTIO_BLK_S_OK },
	};
	unsigned int errors = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errors += cases[i].status != VIRTIO_BLK_S_OK ? 2 : 0;
		assert_int_equal(request(VIRTIO_BLK_T_IN, cases[i].sector, cases[i].len, true),
				 cases[i].status);
		assert_int_equal(request(VIRTIO_BLK_T_OUT, cases[i].sector, cases[i].len, false),
				 cases[i].status);
		/* nothing but the status was req.written by what failed */
		assert_int_equal(req.written, 1);
	}
	assert_int_equal(counter_get(&iothread.channel->stats.errors), errors);
}

/* Data in the direction the request does not use is no data */
static void test_wrong_direction(void **state)
{
	(void)state;
	assert_int_equal(request(VIRTIO_BLK_T_IN, 0, 512, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(request(VIRTIO_BLK_T_OUT, 0, 512, true), VIRTIO_BLK_S_IOERR);
}

static void test_block_size(void **state)
{
	(void)state;
	use_device(4096, false);
	assert_int_equal(le32toh(dev.config.blk_size), 4096);
	assert_int_equal(le64toh(dev.config.capacity), SECTORS);
	assert_int_equal(request(VIRTIO_BLK_T_IN, 8, 4096, true), VIRTIO_BLK_S_OK);
	assert_int_equal(request(VIRTIO_BLK_T_IN, 1, 4096, true), VIRTIO_BLK_S_IOERR);
	assert_int_equal(request(VIRTIO_BLK_T_IN, 8, 512, true), VIRTIO_BLK_S_IOERR);
	assert_int_equal(request(VIRTIO_BLK_T_OUT, 8, 2048, false), VIRTIO_BLK_S_IOERR);
}

static int ranges(uint32_t type, const struct virtio_blk_discard_write_zeroes *r, size_t n)
{
	memcpy(data, r, n * sizeof(*r));
	return request(type, 0, n * sizeof(*r), false);
}

static int one_range(uint32_t type, uint64_t sector, uint32_t sectors, uint32_t flags)
{
	struct virtio_blk_discard_write_zeroes r = {
		.sector = htole64(sector), .num_sectors = htole32(sectors), .flags = htole32(flags)
	};

	return ranges(type, &r, 1);
}

static bool is_zero(uint64_t sector, uint64_t sectors)
{
	for (uint64_t i = 0; i < sectors * 512; i++) {
		if (backend.mem[sector * 512 + i])
			return false;
	}
	return true;
}

static void test_discard(void **state)
{
	struct virtio_blk_discard_write_zeroes two[] = {
		{ .sector = htole64(5), .num_sectors = htole32(40) },
		{ .sector = htole64(100), .num_sectors = htole32(1) },
	};

	(void)state;
	assert_int_equal(ranges(VIRTIO_BLK_T_DISCARD, two, 2), VIRTIO_BLK_S_OK);
	assert_true(is_zero(5, 40) && is_zero(100, 1));
	assert_false(is_zero(4, 1) || is_zero(45, 1) || is_zero(99, 1) || is_zero(101, 1));
	assert_int_equal(counter_get(&iothread.channel->stats.bytes[REQ_DISCARD]), 41 * 512);
	/* its only flag belongs to write zeroes */
	assert_int_equal(one_range(VIRTIO_BLK_T_DISCARD, 0, 1, 1), VIRTIO_BLK_S_UNSUPP);
	assert_false(is_zero(0, 1));
}

static void test_write_zeroes(void **state)
{
	(void)state;
	assert_int_equal(one_range(VIRTIO_BLK_T_WRITE_ZEROES, 7, 30, 0), VIRTIO_BLK_S_OK);
	assert_true(is_zero(7, 30));
	assert_false(is_zero(6, 1) || is_zero(37, 1));
	assert_int_equal(one_range(VIRTIO_BLK_T_WRITE_ZEROES, 63, 30,
				   VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP), VIRTIO_BLK_S_OK);
	assert_true(is_zero(63, 30));
	assert_false(is_zero(62, 1) || is_zero(93, 1));
	assert_int_equal(one_range(VIRTIO_BLK_T_WRITE_ZEROES, 200, 1, 2), VIRTIO_BLK_S_UNSUPP);
	assert_int_equal(one_range(VIRTIO_BLK_T_WRITE_ZEROES, 200, 1, 0x80000001), VIRTIO_BLK_S_UNSUPP);
	assert_false(is_zero(200, 1));
}

static void test_bad_ranges(void **state)
{
	static const uint32_t types[] = { VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t type = types[i];

		assert_int_equal(one_range(type, SECTORS - 1, 1, 0), VIRTIO_BLK_S_OK);
		assert_int_equal(one_range(type, SECTORS - 1, 2, 0), VIRTIO_BLK_S_IOERR);
		assert_int_equal(one_range(type, SECTORS, 1, 0), VIRTIO_BLK_S_IOERR);
		assert_int_equal(one_range(type, UINT64_MAX, 1, 0), VIRTIO_BLK_S_IOERR);
		assert_int_equal(one_range(type, 1ull << 55, 1, 0), VIRTIO_BLK_S_IOERR);
		assert_int_equal(one_range(type, 0, UINT32_MAX, 0), VIRTIO_BLK_S_IOERR);
		/* no segment, part of one, more than the device takes */
		assert_int_equal(request(type, 0, 0, false), VIRTIO_BLK_S_IOERR);
		assert_int_equal(request(type, 0, 15, false), VIRTIO_BLK_S_IOERR);
		assert_int_equal(request(type, 0, 24, false), VIRTIO_BLK_S_IOERR);
		memset(data, 0, sizeof(data));
		assert_int_equal(request(type, 0, 16 * le32toh(dev.config.max_discard_seg), false),
				 VIRTIO_BLK_S_OK);
		assert_int_equal(request(type, 0, 16 * le32toh(dev.config.max_discard_seg) + 16,
					 false), VIRTIO_BLK_S_IOERR);
	}

	/* in blocks of the device */
	use_device(4096, false);
	assert_int_equal(one_range(VIRTIO_BLK_T_DISCARD, 8, 8, 0), VIRTIO_BLK_S_OK);
	assert_int_equal(one_range(VIRTIO_BLK_T_DISCARD, 8, 4, 0), VIRTIO_BLK_S_IOERR);
	assert_int_equal(one_range(VIRTIO_BLK_T_DISCARD, 4, 8, 0), VIRTIO_BLK_S_IOERR);
}

static void test_read_only(void **state)
{
	uint64_t offered = dev.features;

	(void)state;
	assert_false(offered & 1ull << VIRTIO_BLK_F_RO);
	use_device(512, true);
	assert_true(dev.features & 1ull << VIRTIO_BLK_F_RO);
	assert_int_equal(request(VIRTIO_BLK_T_IN, 0, 512, true), VIRTIO_BLK_S_OK);
	assert_int_equal(request(VIRTIO_BLK_T_FLUSH, 0, 0, false), VIRTIO_BLK_S_OK);
	assert_int_equal(request(VIRTIO_BLK_T_OUT, 0, 512, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(one_range(VIRTIO_BLK_T_DISCARD, 0, 1, 0), VIRTIO_BLK_S_IOERR);
	assert_int_equal(one_range(VIRTIO_BLK_T_WRITE_ZEROES, 0, 1, 0), VIRTIO_BLK_S_IOERR);
	assert_false(is_zero(0, 1));
}

static void test_get_id(void **state)
{
	(void)state;
	assert_int_equal(request(VIRTIO_BLK_T_GET_ID, 0, VIRTIO_BLK_ID_BYTES, true), VIRTIO_BLK_S_OK);
	assert_string_equal((char *)data, "fio-dataplane");
	assert_int_equal(req.written, VIRTIO_BLK_ID_BYTES + 1);

	/* over pieces, and no byte more than the id */
	memset(data, 0xff, 64);
	start_chain(VIRTIO_BLK_T_GET_ID, 0);
	piece(&hdr, sizeof(hdr), false);
	piece(data, 4, true);
	piece(data + 4, 40, true);
	piece(&status_byte, 1, true);
	assert_int_equal(execute(), VIRTIO_BLK_S_OK);
	assert_string_equal((char *)data, "fio-dataplane");
	assert_int_equal(data[VIRTIO_BLK_ID_BYTES], 0xff);

	assert_int_equal(request(VIRTIO_BLK_T_GET_ID, 0, VIRTIO_BLK_ID_BYTES - 1, true),
			 VIRTIO_BLK_S_IOERR);
	assert_int_equal(request(VIRTIO_BLK_T_GET_ID, 0, 0, true), VIRTIO_BLK_S_IOERR);
}

static int answer;

static int answers(struct backend *b, struct blk_request *r)
{
	(void)b;
	(void)r;
	return answer;
}

static void test_flush_reports(void **state)
{
	const struct backend_ops ops = { .execute = answers };

	(void)state;
	assert_int_equal(request(VIRTIO_BLK_T_FLUSH, 0, 0, false), VIRTIO_BLK_S_OK);
	backend.ops = &ops;
	answer = -EIO;
	assert_int_equal(request(VIRTIO_BLK_T_FLUSH, 0, 0, false), VIRTIO_BLK_S_IOERR);
	assert_int_equal(counter_get(&iothread.channel->stats.errors), 1);
	answer = -EOPNOTSUPP;
	assert_int_equal(request(VIRTIO_BLK_T_FLUSH, 0, 0, false), VIRTIO_BLK_S_UNSUPP);
	backend.ops = &ram_backend;
}

/* What a backend was asked for last */
static unsigned int asked_flags;

static int notes_flags(struct backend *b, struct blk_request *r)
{
	(void)b;
	asked_flags = r->flags;
	return 0;
}

/* With the cache off a completed write is durable */
static void test_write_through(void **state)
{
	const struct backend_ops ops = { .execute = notes_flags };
	const uint8_t off = 0;

	(void)state;
	backend.ops = &ops;
	request(VIRTIO_BLK_T_OUT, 0, 512, false);
	assert_int_equal(asked_flags, 0);
	/* the driver has no flush */
	blk_device_negotiated(&dev, 0);
	request(VIRTIO_BLK_T_OUT, 0, 512, false);
	assert_int_equal(asked_flags, BLK_FUA);
	blk_device_negotiated(&dev, 1ull << VIRTIO_BLK_F_FLUSH);
	blk_device_write_config(&dev, offsetof(struct virtio_blk_config, wce), 1, &off);
	request(VIRTIO_BLK_T_OUT, 0, 512, false);
	assert_int_equal(asked_flags, BLK_FUA);
	backend.ops = &ram_backend;
}

static void test_unknown_types(void **state)
{
	static const uint32_t types[] = { 2, 3, 5, 7, 9, 10, 12, 14, 100, 0x80000000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(request(types[i], 0, 512, true), VIRTIO_BLK_S_UNSUPP);
	assert_int_equal(counter_get(&iothread.channel->stats.requests[REQ_UNSUPPORTED]), 11);
}

/* VIRTIO 1.2, 2.7.4.1: how a request is cut into pieces says nothing */
static void test_any_layout(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < sizeof(hdr) + 512; cut += 5) {
		uint8_t whole[sizeof(hdr) + 512];

		start_chain(VIRTIO_BLK_T_OUT, 9);
		memcpy(whole, &hdr, sizeof(hdr));
		memset(whole + sizeof(hdr), (int)cut, 512);
		piece(whole, cut, false);
		piece(whole + cut, sizeof(whole) - cut, false);
		piece(&status_byte, 1, true);
		assert_int_equal(execute(), VIRTIO_BLK_S_OK);
		assert_memory_equal(backend.mem + 9 * 512, whole + sizeof(hdr), 512);
	}

	/* a byte a piece, and the status in one piece with the data */
	start_chain(VIRTIO_BLK_T_IN, 9);
	for (unsigned int i = 0; i < sizeof(hdr); i++)
		piece((char *)&hdr + i, 1, false);
	piece(data, 100, true);
	piece(data + 100, 413, true);
	assert_int_equal(execute(), VIRTIO_BLK_S_OK);
	assert_memory_equal(data, backend.mem + 9 * 512, 512);
	assert_ptr_equal(req.status_at, data + 512);
	assert_int_equal(req.written, 513);
}

static void test_no_status(void **state)
{
	(void)state;
	start_chain(VIRTIO_BLK_T_OUT, 0);
	piece(&hdr, sizeof(hdr), false);
	piece(data, 512, false);
	assert_int_equal(execute(), -EPROTO);
	assert_false(is_zero(0, 1));
}

static void test_no_header(void **state)
{
	(void)state;
	start_chain(VIRTIO_BLK_T_IN, 0);
	piece(&hdr, sizeof(hdr) - 1, false);
	piece(data, 513, true);
	assert_int_equal(execute(), VIRTIO_BLK_S_IOERR);
	assert_ptr_equal(req.status_at, data + 512);
	assert_int_equal(req.written, 1);

	start_chain(VIRTIO_BLK_T_IN, 0);
	piece(&status_byte, 1, true);
	assert_int_equal(execute(), VIRTIO_BLK_S_IOERR);
	assert_int_equal(counter_get(&iothread.channel->stats.errors), 2);
}

static void test_config(void **state)
{
	uint32_t wce = offsetof(struct virtio_blk_config, wce);
	uint8_t on = 1, off = 0, two = 2;

	(void)state;
	assert_int_equal(le64toh(dev.config.capacity), SECTORS);
	assert_int_equal(le16toh(dev.config.num_queues), 4);
	assert_true(le32toh(dev.config.seg_max) + 2 <= VQ_IOV_MAX);
	assert_int_equal(dev.config.size_max, 0);
	assert_int_equal(blk_device_write_config(&dev, wce, 1, &off), 0);
	assert_int_equal(dev.config.wce, 0);
	assert_int_equal(blk_device_write_config(&dev, wce, 1, &on), 0);
	assert_int_equal(dev.config.wce, 1);
	assert_int_equal(blk_device_write_config(&dev, wce, 1, &two), -EINVAL);
	assert_int_equal(blk_device_write_config(&dev, wce, 0, &off), -EINVAL);
	assert_int_equal(blk_device_write_config(&dev, wce, 2, data), -EINVAL);
	assert_int_equal(blk_device_write_config(&dev, 0, 1, &off), -EINVAL);
	assert_int_equal(blk_device_write_config(&dev, UINT32_MAX, 1, &off), -EINVAL);
	assert_int_equal(dev.config.wce, 1);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_read),
		TEST(test_write),
		TEST(test_ranges),
		TEST(test_wrong_direction),
		TEST(test_block_size),
		TEST(test_discard),
		TEST(test_write_zeroes),
		TEST(test_bad_ranges),
		TEST(test_read_only),
		TEST(test_get_id),
		TEST(test_flush_reports),
		TEST(test_write_through),
		TEST(test_unknown_types),
		TEST(test_any_layout),
		TEST(test_no_status),
		TEST(test_no_header),
		TEST(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
