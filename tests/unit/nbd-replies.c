/* SPDX-License-Identifier: GPL-2.0-only */
/* engines/nbd/direct-reply.c: replies cut anywhere, and replies that are not what they should be */

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "engines/nbd/direct.h"

#define SLOTS	8u
#define LEN	600u
#define MARGIN	64u

static struct {
	struct nbd_client client;
	struct nbd_conn *conn;
	struct direct d;
	char *buf[SLOTS];	/* data of each request, between two margins */
	uint64_t cookie[SLOTS];
	char stream[8192];	/* what the server sends */
	size_t len;
} t;

/* SLOTS reads of LEN bytes, one behind the other, all sent. */
static void begin(bool structured)
{
	memset(&t.d, 0, sizeof(t.d));
	assert_int_equal(nbd_client_init(&t.client, SLOTS, 1), 0);
	t.conn = &t.client.conn[0];
	t.conn->client = &t.client;
	t.conn->priv = &t.d;
	t.client.nr_conns = 1;
	t.d.structured = structured;
	t.d.buf = malloc(DIRECT_BUFFER);
	assert_non_null(t.d.buf);
	t.d.first = SLOTS;
	for (unsigned int i = 0; i < SLOTS; i++) {
		t.buf[i] = malloc(MARGIN + LEN + MARGIN);
		assert_non_null(t.buf[i]);
		memset(t.buf[i], 0x55, MARGIN + LEN + MARGIN);
		t.cookie[i] = (uint64_t)i << 32 | i;
		t.client.slot[i] = (struct nbd_slot) {
			.conn = t.conn, .buf = t.buf[i] + MARGIN, .offset = i * LEN, .len = LEN,
			.type = NBD_CMD_READ, .cookie = t.cookie[i], .busy = true,
		};
	}
	t.len = 0;
}

static void end(void)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		for (unsigned int k = 0; k < MARGIN; k++) {
			assert_int_equal(t.buf[i][k], 0x55);
			assert_int_equal(t.buf[i][MARGIN + LEN + k], 0x55);
		}
		free(t.buf[i]);
	}
	free(t.d.buf);
	free(t.client.conn);
	free(t.client.slot);
	free(t.client.free);
}

static void put(const void *p, size_t n)
{
	assert_true(t.len + n <= sizeof(t.stream));
	memcpy(t.stream + t.len, p, n);
	t.len += n;
}

static void put_header(unsigned int i, uint16_t type, uint32_t len, bool last)
{
	struct nbd_chunk h = {
		.magic = htobe32(NBD_STRUCTURED_REPLY_MAGIC),
		.flags = htobe16(last ? NBD_REPLY_FLAG_DONE : 0),
		.type = htobe16(type),
		.cookie = htobe64(t.cookie[i]),
		.len = htobe32(len),
	};

	put(&h, sizeof(h));
}

/* Every byte of content is its request's number, counted from 1. */
static void put_data(unsigned int i, uint32_t from, uint32_t len, bool last)
{
	uint64_t offset = htobe64(i * LEN + from);
	char data[LEN];

	put_header(i, NBD_REPLY_TYPE_OFFSET_DATA, 8 + len, last);
	put(&offset, sizeof(offset));
	memset(data, 1 + i, sizeof(data));
	put(data, len);
}

static void put_hole(unsigned int i, uint32_t from, uint32_t len, bool last)
{
	uint64_t offset = htobe64(i * LEN + from);
	uint32_t size = htobe32(len);

	put_header(i, NBD_REPLY_TYPE_OFFSET_HOLE, 12, last);
	put(&offset, sizeof(offset));
	put(&size, sizeof(size));
}

static void put_error(unsigned int i, uint16_t type, uint32_t error, const char *message,
		      size_t tail)
{
	uint16_t message_len = htobe16(strlen(message));
	char zeroes[64] = { 0 };

	error = htobe32(error);
	put_header(i, type, 6 + strlen(message) + tail, true);
	put(&error, sizeof(error));
	put(&message_len, sizeof(message_len));
	put(message, strlen(message));
	put(zeroes, tail);
}

/* A reply of each kind, and chunks of two requests between each other. */
static void put_all(void)
{
	put_data(0, 0, LEN, true);
	put_data(1, 300, 300, false);
	put_hole(2, 0, LEN, false);
	put_data(1, 0, 300, true);
	put_header(2, NBD_REPLY_TYPE_NONE, 0, true);
	put_error(3, NBD_REPLY_TYPE_ERROR, NBD_ENOSPC, "full", 0);
	put_data(4, 0, 100, false);
	put_error(4, NBD_REPLY_TYPE_ERROR_OFFSET, NBD_EIO, "", 8);
	put_error(5, NBD_REPLY_ERR(99), 7, "what", 50);
	put_hole(6, 1, LEN - 1, false);
	put_data(6, 0, 1, true);
	put_data(7, 0, LEN, true);
}

/* Let the parser see the stream up to @end; returns its verdict, completions counted in @done. */
static int feed(size_t *seen, size_t end, unsigned int *done)
{
	struct nbd_slot *s;
	int ret;

	/* What make_room() and the kernel do. */
	memmove(t.d.buf, t.d.buf + t.d.pos, t.d.end - t.d.pos);
	t.d.end -= t.d.pos;
	t.d.pos = 0;
	memcpy(t.d.buf + t.d.end, t.stream + *seen, end - *seen);
	t.d.end += end - *seen;
	*seen = end;
	while ((ret = direct_next(t.conn, &s)) > 0) {
		assert_true(s->busy);
		s->busy = false;
		(*done)++;
	}
	return ret;
}

static void check_all(void)
{
	static const int errors[SLOTS] = { [3] = ENOSPC, [4] = EIO, [5] = EINVAL };

	for (unsigned int i = 0; i < SLOTS; i++) {
		const struct nbd_slot *s = &t.client.slot[i];

		assert_false(s->busy);
		assert_int_equal(s->error, errors[i]);
		for (unsigned int k = 0; k < LEN && !s->error; k++)
			assert_int_equal(s->buf[k], i == 2 || (i == 6 && k) ? 0 : 1 + i);
	}
	assert_string_equal(t.client.complaint, "full");
}

static void test_cut_anywhere(void **state)
{
	size_t len;

	(void)state;
	begin(true);
	put_all();
	len = t.len;
	end();
	for (size_t cut = 0; cut <= len; cut++) {
		unsigned int done = 0;
		size_t seen = 0;

		begin(true);
		put_all();
		assert_int_equal(feed(&seen, cut, &done), 0);
		assert_int_equal(feed(&seen, len, &done), 0);
		assert_int_equal(done, SLOTS);
		check_all();
		end();
	}
}

static void test_byte_by_byte(void **state)
{
	unsigned int done = 0;
	size_t seen = 0;

	(void)state;
	begin(true);
	put_all();
	for (size_t i = 1; i <= t.len; i++)
		assert_int_equal(feed(&seen, i, &done), 0);
	assert_int_equal(done, SLOTS);
	check_all();
	end();
}

static void test_not_sent_yet(void **state)
{
	unsigned int done = 0;
	size_t seen = 0;

	(void)state;
	begin(true);
	put_data(3, 0, LEN, true);
	t.d.first = 3;
	t.d.sent = sizeof(struct nbd_request) - 1;
	assert_int_equal(feed(&seen, t.len, &done), -EPROTO);
	end();
}

/* The parser may take or refuse it, but writes nowhere else and tells of each request once. */
static void test_changed(void **state)
{
	unsigned int refused = 0;
	struct rng r;

	(void)state;
	rng_seed(&r, 4711);
	for (unsigned int n = 0; n < 20000; n++) {
		unsigned int done = 0, changes = 1 + rng_below(&r, 4);
		size_t seen = 0;
		int ret = 0;

		begin(rng_below(&r, 8));
		put_all();
		while (changes--)
			t.stream[rng_below(&r, t.len)] ^= 1 << rng_below(&r, 8);
		while (!ret && seen < t.len) {
			size_t piece = 1 + rng_below(&r, 2000);

			ret = feed(&seen, seen + piece < t.len ? seen + piece : t.len, &done);
		}
		assert_true(done <= SLOTS);
		assert_true(!ret || ret == -EPROTO);
		refused += ret < 0;
		end();
	}
	/* most changes are of data, which nobody can tell */
	assert_in_range(refused, 2000, 19000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_not_sent_yet),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
