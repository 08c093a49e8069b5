/* SPDX-License-Identifier: GPL-2.0-only */
/* base/json.c: the text comes out exactly as expected */

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/hist.h"
#include "base/json.h"

static char *text;
static size_t text_len;
static FILE *stream;

static void begin(struct json *w)
{
	stream = open_memstream(&text, &text_len);
	assert_non_null(stream);
	json_init(w, stream);
}

static void expect(struct json *w, const char *want)
{
	assert_int_equal(json_finish(w), 0);
	fclose(stream);
	assert_string_equal(text, want);
	free(text);
}

static void test_nesting(void **state)
{
	struct json w;

	(void)state;
	begin(&w);
	json_open_object(&w, NULL);
	json_u64(&w, "a", UINT64_MAX);
	json_open_array(&w, "b");
	json_i64(&w, NULL, INT64_MIN);
	json_open_object(&w, NULL);
	json_bool(&w, "c", true);
	json_bool(&w, "d", false);
	json_close_object(&w);
	json_open_object(&w, NULL);
	json_close_object(&w);
	json_close_array(&w);
	json_open_array(&w, "e");
	json_close_array(&w);
	json_str(&w, "f", NULL);
	json_close_object(&w);
	expect(&w, "{\n"
		   "  \"a\": 18446744073709551615,\n"
		   "  \"b\": [\n"
		   "    -9223372036854775808,\n"
		   "    {\n"
		   "      \"c\": true,\n"
		   "      \"d\": false\n"
		   "    },\n"
		   "    {}\n"
		   "  ],\n"
		   "  \"e\": [],\n"
		   "  \"f\": null\n"
		   "}\n");
}

static void test_full_depth(void **state)
{
	struct json w;

	(void)state;
	begin(&w);
	for (int i = 0; i < JSON_DEPTH; i++)
		json_open_array(&w, NULL);
	json_u64(&w, NULL, 1);
	for (int i = 0; i < JSON_DEPTH; i++)
		json_close_array(&w);
	assert_int_equal(json_finish(&w), 0);
	fclose(stream);
	free(text);
}

static void expect_escaped(const char *s, const char *want)
{
	struct json w;

	begin(&w);
	json_str(&w, NULL, s);
	expect(&w, want);
}

static void test_strings(void **state)
{
	(void)state;
	expect_escaped("", "\"\"\n");
	expect_escaped("a \"b\" \\c/", "\"a \\\"b\\\" \\\\c/\"\n");
	expect_escaped("\n\t\r\x01\x1f\x7f",
		      "\"\\n\\t\\u000d\\u0001\\u001f\x7f\"\n");
	/* two, three and four bytes, and the last code point there is */
	expect_escaped("\xc2\xb5s \xe2\x82\xac \xf0\x9f\x90\xa7 \xf4\x8f\xbf\xbf",
		      "\"\xc2\xb5s \xe2\x82\xac \xf0\x9f\x90\xa7 \xf4\x8f\xbf\xbf\"\n");
}

static void test_no_utf8(void **state)
{
	(void)state;
	/* a byte of Latin-1, a lone continuation, a sequence cut at the end */
	expect_escaped("caf\xe9!", "\"caf\\ufffd!\"\n");
	expect_escaped("\x80", "\"\\ufffd\"\n");
	expect_escaped("x\xe2\x82", "\"x\\ufffd\\ufffd\"\n");
	/* overlong slash, a surrogate, beyond U+10FFFF */
	expect_escaped("\xc0\xaf", "\"\\ufffd\\ufffd\"\n");
	expect_escaped("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"\n");
	expect_escaped("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"\n");
	expect_escaped("\xf4\x90\x80\x80",
		      "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n");
}

static void test_escaped_key(void **state)
{
	struct json w;

	(void)state;
	begin(&w);
	json_open_object(&w, NULL);
	json_u64(&w, "say \"x\"", 1);
	json_close_object(&w);
	expect(&w, "{\n  \"say \\\"x\\\"\": 1\n}\n");
}

static void expect_double(double v, const char *want)
{
	struct json w;

	begin(&w);
	json_double(&w, NULL, v);
	expect(&w, want);
}

static void test_doubles(void **state)
{
	(void)state;
	expect_double(0.1, "0.1\n");
	expect_double(-2.5, "-2.5\n");
	expect_double(1e300, "1e+300\n");
	expect_double(0.1 + 0.2, "0.30000000000000004\n");
	expect_double(NAN, "null\n");
	expect_double(INFINITY, "null\n");
}

static void test_hist(void **state)
{
	static struct hist h;
	struct json w;

	(void)state;
	hist_add(&h, 0);
	hist_add(&h, 7);
	hist_add(&h, 7);
	hist_add(&h, 1000);

	begin(&w);
	json_open_object(&w, NULL);
	json_hist(&w, "h", &h);
	json_close_object(&w);
	expect(&w, "{\n  \"h\": [\n    [0, 1],\n    [7, 2],\n    [992, 1]\n  ]\n}\n");
}

static void test_full_disk(void **state)
{
	struct json w;
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	if (!f)
		skip();
	json_init(&w, f);
	json_str(&w, NULL, "lost");
	assert_int_equal(json_finish(&w), -ENOSPC);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_full_depth),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_no_utf8),
		cmocka_unit_test(test_escaped_key),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
