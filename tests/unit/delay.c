/* SPDX-License-Identifier: GPL-2.0-only */
/* targets/backend/delay.c and base/rng.h: the draws have the distribution asked for */

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "targets/backend/delay.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define DRAWS		100000

static uint64_t draws[DRAWS];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Fills draws[] with sorted draws */
static void draw_all(const char *text)
{
	struct delay d;
	struct rng r;

	assert_int_equal(delay_parse(text, &d), 0);
	rng_seed(&r, 42);
	for (int i = 0; i < DRAWS; i++)
		draws[i] = delay_draw(&d, &r);
	qsort(draws, DRAWS, sizeof(draws[0]), compare);
}

static double mean(void)
{
	double sum = 0;

	for (int i = 0; i < DRAWS; i++)
		sum += (double)draws[i];
	return sum / DRAWS;
}

static double deviation(void)
{
	double m = mean(), sum = 0;

	for (int i = 0; i < DRAWS; i++)
		sum += ((double)draws[i] - m) * ((double)draws[i] - m);
	return sqrt(sum / DRAWS);
}

static double quantile(double q)
{
	return (double)draws[(int)(q * DRAWS)];
}

/* Tolerances are relative, and a few times what 1e5 draws leave to chance */
static void near(const char *what, double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance * want)
		fail_msg("%s is %g, not %g", what, got, want);
}

static void test_none_and_fixed(void **state)
{
	(void)state;
	draw_all("none");
	assert_true(draws[0] == 0 && draws[DRAWS - 1] == 0);
	draw_all("fixed:20us");
	assert_true(draws[0] == 20000 && draws[DRAWS - 1] == 20000);
}

static void test_uniform(void **state)
{
	(void)state;
	draw_all("uniform:10us,30us");
	assert_in_range(draws[0], 10000, 10010);
	assert_in_range(draws[DRAWS - 1], 29990, 30000);
	near("mean", mean(), 20000, 0.005);
	near("first quartile", quantile(0.25), 15000, 0.01);
	near("third quartile", quantile(0.75), 25000, 0.01);
	near("deviation", deviation(), 20000 / sqrt(12), 0.01);
}

static void test_uniform_bounds(void **state)
{
	(void)state;
	/* both ends are drawn, each as often as what lies between */
	draw_all("uniform:5,8");
	assert_true(draws[0] == 5 && draws[DRAWS - 1] == 8);
	near("mean", mean(), 6.5, 0.01);
	assert_true(quantile(0.24) == 5 && quantile(0.26) == 6);
	assert_true(quantile(0.74) == 7 && quantile(0.76) == 8);

	draw_all("uniform:7,7");
	assert_true(draws[0] == 7 && draws[DRAWS - 1] == 7);
}

static void test_exp(void **state)
{
	(void)state;
	draw_all("exp:20us");
	near("mean", mean(), 20000, 0.015);
	near("deviation", deviation(), 20000, 0.025);
	near("median", quantile(0.5), 20000 * log(2), 0.02);
	near("99th percentile", quantile(0.99), 20000 * log(100), 0.03);
	assert_true(draws[0] < 10);
}

static void test_lognormal(void **state)
{
	const double sigma = 0.5;

	(void)state;
	draw_all("lognormal:20us,0.5");
	near("median", quantile(0.5), 20000, 0.01);
	near("mean", mean(), 20000 * exp(sigma * sigma / 2), 0.01);
	near("one deviation down", quantile(0.158655), 20000 * exp(-sigma), 0.015);
	near("one deviation up", quantile(0.841345), 20000 * exp(sigma), 0.015);
	near("two deviations up", quantile(0.977250), 20000 * exp(2 * sigma), 0.03);

	draw_all("lognormal:20us,0");
	assert_true(draws[0] == 20000 && draws[DRAWS - 1] == 20000);
}

static void write_times(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_file(void **state)
{
	char path[] = "/tmp/delay.XXXXXX", text[64], shown[64];
	struct delay d = { .kind = DELAY_FIXED };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(text, sizeof(text), "file:%s", path);
	/* what is no list of times is refused, and nothing of it kept */
	write_times(path, "10us\n");
	assert_int_equal(delay_parse(text, &d), -EINVAL);
	write_times(path, "10us\nsoon\n");
	assert_int_equal(delay_parse(text, &d), -EINVAL);
	write_times(path, "10us\n1000s\n");
	assert_int_equal(delay_parse(text, &d), -ERANGE);
	assert_int_equal(d.kind, DELAY_FIXED);
	/* in any order; a quarter of the draws lies between each two neighbours */
	write_times(path, "90us # the slowest\n\n10us\n20us\n30us\n40us\n");
	draw_all(text);
	assert_in_range(draws[0], 10000, 10010);
	assert_in_range(draws[DRAWS - 1], 89900, 90000);
	near("first quartile", quantile(0.25), 20000, 0.01);
	near("median", quantile(0.5), 30000, 0.01);
	near("nine tenths", quantile(0.9), 70000, 0.02);
	assert_int_equal(delay_parse(text, &d), 0);
	delay_format(&d, shown, sizeof(shown));
	assert_string_equal(shown, text);
	/* it is read once */
	unlink(path);
	assert_int_equal(delay_parse(text, &d), 0);
	assert_int_equal(delay_parse("file:/nowhere/at all", &d), -ENOENT);
	assert_int_equal(delay_parse("file:", &d), -EINVAL);
}

static void test_wide_tail(void **state)
{
	(void)state;
	/* exp(10 * z) leaves the range of an integer; the draw must not */
	draw_all("lognormal:100s,10");
	assert_true(draws[DRAWS - 1] == 10 * DELAY_MAX_NS);
	near("median", quantile(0.5), (double)DELAY_MAX_NS, 0.2);
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int ret;
		const char *canonical;
	} cases[] = {
		{ "none", 0, "none" },
		{ "fixed:20us", 0, "fixed:20000" },
		{ "fixed:0", 0, "fixed:0" },
		{ "uniform:1us,1.5us", 0, "uniform:1000,1500" },
		{ "exp:1ms", 0, "exp:1000000" },
		{ "lognormal:20us,0.25", 0, "lognormal:20000,0.25" },
		{ "fixed:100s", 0, "fixed:100000000000" },
		{ "fixed:101s", -ERANGE, NULL },
		{ "uniform:2us,1us", -ERANGE, NULL },
		{ "uniform:1us,101s", -ERANGE, NULL },
		{ "lognormal:20us,-1", -ERANGE, NULL },
		{ "lognormal:20us,11", -ERANGE, NULL },
		{ "", -EINVAL, NULL },
		{ "fix", -EINVAL, NULL },
		{ "fixedx:1", -EINVAL, NULL },
		{ "none:", -EINVAL, NULL },
		{ "none:1", -EINVAL, NULL },
		{ "fixed", -EINVAL, NULL },
		{ "fixed:", -EINVAL, NULL },
		{ "fixed:1,2", -EINVAL, NULL },
		{ "fixed:1h", -EINVAL, NULL },
		{ "uniform:1", -EINVAL, NULL },
		{ "uniform:1,", -EINVAL, NULL },
		{ "uniform:1,2,3", -EINVAL, NULL },
		{ "lognormal:1us", -EINVAL, NULL },
		{ "lognormal:1us,x", -EINVAL, NULL },
		{ "20us", -EINVAL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct delay d = { .kind = DELAY_FIXED, .ns = 9 };
		char text[64];
		int ret = delay_parse(cases[i].text, &d);

		if (ret != cases[i].ret)
			fail_msg("'%s' gave %d", cases[i].text, ret);
		delay_format(&d, text, sizeof(text));
		assert_string_equal(text, ret ? "fixed:9" : cases[i].canonical);
	}
}

static void test_long_text(void **state)
{
	char text[4096] = "uniform:";
	struct delay d;

	(void)state;
	memset(text + 8, '1', sizeof(text) - 9);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(delay_parse(text, &d), -EINVAL);
}

/* Published test vectors of the two generators */
static void test_rng_vectors(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 0);
	assert_true(r.s[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(r.s[1] == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(r.s[2] == UINT64_C(0x06c45d188009454f));
	assert_true(r.s[3] == UINT64_C(0xf88bb8a8724c81ec));

	r = (struct rng){ { 1, 2, 3, 4 } };
	assert_true(rng_u64(&r) == 11520);
	assert_true(rng_u64(&r) == 0);
	assert_true(rng_u64(&r) == 1509978240);
	assert_true(rng_u64(&r) == UINT64_C(1215971899390074240));
}

static void test_seeds_differ(void **state)
{
	struct delay d;
	struct rng a, b;
	int same = 0;

	(void)state;
	assert_int_equal(delay_parse("exp:1ms", &d), 0);
	rng_seed(&a, 1);
	rng_seed(&b, 2);
	for (int i = 0; i < 1000; i++)
		same += delay_draw(&d, &a) == delay_draw(&d, &b);
	assert_true(same < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_and_fixed),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_uniform_bounds),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_lognormal),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_wide_tail),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_rng_vectors),
		cmocka_unit_test(test_seeds_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
