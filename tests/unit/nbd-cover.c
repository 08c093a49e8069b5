/* SPDX-License-Identifier: GPL-2.0-only */
/* engines/nbd/cover.h: chunks of a read that are the whole of it, and such that are not */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "engines/nbd/cover.h"

#define TOTAL	60u
#define SALT	UINT64_C(4711)

/* struct chunks - in the order in which they come */
struct chunks {
	unsigned int nr;
	uint32_t from[TOTAL + 1];
	uint32_t len[TOTAL + 1];
};

static void add(struct chunks *c, uint32_t from, uint32_t len)
{
	c->from[c->nr] = from;
	c->len[c->nr++] = len;
}

static void swap(struct chunks *c, unsigned int a, unsigned int b)
{
	uint32_t from = c->from[a], len = c->len[a];

	c->from[a] = c->from[b];
	c->len[a] = c->len[b];
	c->from[b] = from;
	c->len[b] = len;
}

/* The whole, in chunks of any length in any order. */
static void draw_whole(struct chunks *c, struct rng *r)
{
	uint32_t longest = 1 + rng_below(r, TOTAL), from = 0;

	c->nr = 0;
	while (from < TOTAL) {
		uint32_t len = 1 + rng_below(r, longest);

		if (len > TOTAL - from)
			len = TOTAL - from;
		add(c, from, len);
		from += len;
	}
	for (unsigned int i = c->nr; i > 1 && rng_below(r, 8); i--)
		swap(c, i - 1, rng_below(r, i));
}

/* As many bytes as the whole has, anywhere. */
static void draw_bytes(struct chunks *c, struct rng *r)
{
	uint32_t left = TOTAL;

	c->nr = 0;
	while (left) {
		uint32_t len = 1 + rng_below(r, left);

		add(c, rng_below(r, TOTAL - len + 1), len);
		left -= len;
	}
}

/* What counting places one by one says. */
static bool is_whole(const struct chunks *c)
{
	unsigned char times[TOTAL] = { 0 };

	for (unsigned int i = 0; i < c->nr; i++)
		for (uint32_t k = 0; k < c->len[i]; k++)
			times[c->from[i] + k]++;
	for (unsigned int i = 0; i < TOTAL; i++) {
		if (times[i] != 1)
			return false;
	}
	return true;
}

static bool said_whole(const struct chunks *c)
{
	struct cover cover = { 0 };

	for (unsigned int i = 0; i < c->nr; i++) {
		if (!cover_add(&cover, SALT, c->from[i], c->len[i], TOTAL))
			return false;
	}
	return cover_whole(&cover, SALT, TOTAL);
}

static void test_any_order(void **state)
{
	struct chunks c;
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	for (unsigned int n = 0; n < 50000; n++) {
		draw_whole(&c, &r);
		assert_true(is_whole(&c));
		assert_true(said_whole(&c));
	}
}

/* One chunk moved, or one in another's place: the bytes are as many as before. */
static void test_one_displaced(void **state)
{
	unsigned int wrong = 0;
	struct chunks c;
	struct rng r;

	(void)state;
	rng_seed(&r, 2);
	for (unsigned int n = 0; n < 50000; n++) {
		unsigned int i;

		draw_whole(&c, &r);
		i = rng_below(&r, c.nr);
		c.from[i] = rng_below(&r, TOTAL - c.len[i] + 1);
		assert_int_equal(said_whole(&c), is_whole(&c));
		wrong += !is_whole(&c);
	}
	assert_in_range(wrong, 10000, 49999);
}

static void test_as_many_bytes(void **state)
{
	unsigned int wrong = 0;
	struct chunks c;
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (unsigned int n = 0; n < 50000; n++) {
		draw_bytes(&c, &r);
		assert_int_equal(said_whole(&c), is_whole(&c));
		wrong += !is_whole(&c);
	}
	assert_in_range(wrong, 10000, 49999);
}

/* Every way to bring eight bytes in chunks of two, each anywhere. */
static void test_every_way(void **state)
{
	unsigned int whole = 0;

	(void)state;
	for (unsigned int n = 0; n < 7 * 7 * 7 * 7; n++) {
		uint32_t at[4] = { n % 7, n / 7 % 7, n / 49 % 7, n / 343 }, seen = 0;
		struct cover cover = { 0 };

		for (unsigned int i = 0; i < 4; i++) {
			assert_true(cover_add(&cover, SALT, at[i], 2, 8));
			seen |= 3u << at[i];
		}
		assert_int_equal(cover_whole(&cover, SALT, 8), seen == 0xff);
		whole += seen == 0xff;
	}
	assert_int_equal(whole, 4 * 3 * 2);
}

static void test_not_of_the_read(void **state)
{
	struct cover cover = { 0 };

	(void)state;
	assert_false(cover_add(&cover, SALT, 0, 0, 8));
	assert_false(cover_add(&cover, SALT, 1, 8, 8));
	assert_false(cover_add(&cover, SALT, 9, 1, 8));
	assert_false(cover_add(&cover, SALT, UINT64_MAX, 2, 8));
	assert_false(cover_add(&cover, SALT, 0, UINT64_MAX, 8));
	assert_true(cover_add(&cover, SALT, 0, 5, 8));
	assert_false(cover_add(&cover, SALT, 0, 4, 8));
	assert_false(cover_whole(&cover, SALT, 8));
	assert_true(cover_add(&cover, SALT, 5, 3, 8));
	assert_true(cover_whole(&cover, SALT, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_one_displaced),
		cmocka_unit_test(test_as_many_bytes),
		cmocka_unit_test(test_every_way),
		cmocka_unit_test(test_not_of_the_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
