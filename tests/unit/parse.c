/* SPDX-License-Identifier: GPL-2.0-only */
/* base/parse.c: what counts as a size, a time, a list of CPUs, and what does not */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/parse.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* No input gives this, so it shows that a failed call left the result alone */
#define UNTOUCHED	UINT64_C(0x5a5a5a5a5a5a5a5a)

struct number_case {
	const char *text;
	int ret;
	uint64_t value;
};

static void check_numbers(int (*parse)(const char *, uint64_t *),
			  const struct number_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		uint64_t want = cases[i].ret ? UNTOUCHED : cases[i].value;
		int ret = parse(cases[i].text, &v);

		if (ret != cases[i].ret || v != want)
			fail_msg("'%s' gave %d and %ju, not %d and %ju",
				 cases[i].text, ret, (uintmax_t)v,
				 cases[i].ret, (uintmax_t)want);
	}
}

static void test_u64(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_u64, cases, COUNT(cases));
}

static void test_size(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "512B", 0, 512 },
		{ "4k", 0, 4096 },
		{ "4K", 0, 4096 },
		{ "4KB", 0, 4096 },
		{ "4KiB", 0, 4096 },
		{ "3M", 0, 3 << 20 },
		{ "1gib", 0, 1 << 30 },
		{ "2T", 0, UINT64_C(2) << 40 },
		{ "16777215T", 0, UINT64_C(16777215) << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999Q", -EINVAL, 0 },
		{ "12Q", -EINVAL, 0 },
		{ "4KK", -EINVAL, 0 },
		{ "4Ki", -EINVAL, 0 },
		{ "4iB", -EINVAL, 0 },
		{ "4BK", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "4 K", -EINVAL, 0 },
		{ "K", -EINVAL, 0 },
		{ "-4K", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_size, cases, COUNT(cases));
}

static void test_time(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "32768", 0, 32768 },
		{ "32768ns", 0, 32768 },
		{ "1.0", 0, 1 },
		{ "20us", 0, 20000 },
		{ "1.5us", 0, 1500 },
		{ "0.1us", 0, 100 },
		{ "1.001us", 0, 1001 },
		{ "1.0010us", 0, 1001 },
		{ "2.5ms", 0, 2500000 },
		{ "1.000000001s", 0, 1000000001 },
		{ "18446744073s", 0, UINT64_C(18446744073000000000) },
		{ "18446744073.709551615s", 0, UINT64_MAX },
		{ "18446744073.709551616s", -ERANGE, 0 },
		{ "18446744074s", -ERANGE, 0 },
		{ "0.5", -EINVAL, 0 },
		{ "1.0001us", -EINVAL, 0 },
		{ "1.us", -EINVAL, 0 },
		{ ".5us", -EINVAL, 0 },
		{ "1.5.0us", -EINVAL, 0 },
		{ "us", -EINVAL, 0 },
		{ "1 us", -EINVAL, 0 },
		{ "1us ", -EINVAL, 0 },
		{ "1US", -EINVAL, 0 },
		{ "1m", -EINVAL, 0 },
		{ "-1us", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	check_numbers(parse_time_ns, cases, COUNT(cases));
}

static void test_double(void **state)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "nan", "inf", "0x10", "1.2.3", "--1", "e", "1e",
	};
	double v = 7;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (parse_double(bad[i], &v) != -EINVAL || v != 7)
			fail_msg("'%s' was taken", bad[i]);
	}
	assert_int_equal(parse_double("1e999", &v), -ERANGE);
	assert_true(v == 7);

	assert_int_equal(parse_double("0.25", &v), 0);
	assert_true(v == 0.25);
	assert_int_equal(parse_double("-1.5e3", &v), 0);
	assert_true(v == -1500);
}

static void test_cpu_list(void **state)
{
	static const struct {
		const char *text;
		int ret;
		const char *canonical;
	} cases[] = {
		{ "0", 0, "0" },
		{ "0,2-3", 0, "0,2-3" },
		{ "3,2,0", 0, "0,2-3" },
		{ "1-3,2-5", 0, "1-5" },
		{ "7-7", 0, "7" },
		{ "1022-1023", 0, "1022-1023" },
		{ "1024", -ERANGE, NULL },
		{ "0-18446744073709551615", -ERANGE, NULL },
		{ "99999999999999999999", -ERANGE, NULL },
		{ "", -EINVAL, NULL },
		{ ",", -EINVAL, NULL },
		{ "1,", -EINVAL, NULL },
		{ "3-2", -EINVAL, NULL },
		{ "1-", -EINVAL, NULL },
		{ "-1", -EINVAL, NULL },
		{ "1-2-3", -EINVAL, NULL },
		{ "0, 1", -EINVAL, NULL },
		{ "a", -EINVAL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64];
		cpu_set_t set;
		int ret;

		CPU_ZERO(&set);
		CPU_SET(9, &set);
		ret = parse_cpu_list(cases[i].text, &set);
		format_cpu_list(&set, text, sizeof(text));
		if (ret != cases[i].ret)
			fail_msg("'%s' gave %d", cases[i].text, ret);
		assert_string_equal(text, ret ? "9" : cases[i].canonical);
	}
}

static void test_cpu_list_is_cut(void **state)
{
	char text[8] = "XXXXXXX";
	cpu_set_t set;

	(void)state;
	assert_int_equal(parse_cpu_list("0,2,4,6,8,10-12", &set), 0);
	format_cpu_list(&set, text, 6);
	assert_memory_equal(text, "0,2,4\0X", 8);

	CPU_ZERO(&set);
	format_cpu_list(&set, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_double),
		cmocka_unit_test(test_cpu_list),
		cmocka_unit_test(test_cpu_list_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
