/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers as people write them: sizes, times, CPU lists */

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Takes the digits at *s and leaves *s behind them. strtoull() would let
 * signs and spaces through.
 */
static int take_digits(const char **s, uint64_t *value)
{
	uint64_t v = 0;
	int ret = 0;

	if (!is_digit(**s))
		return -EINVAL;

	for (; is_digit(**s); (*s)++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**s - '0'), &v))
			ret = -ERANGE;
	}

	*value = v;
	return ret;
}

int parse_u64(const char *s, uint64_t *value)
{
	uint64_t v;
	int ret = take_digits(&s, &v);

	/* Junk behind a number that is too large is still junk */
	if (*s)
		return -EINVAL;
	if (!ret)
		*value = v;
	return ret;
}

int parse_double(const char *s, double *value)
{
	double v;
	char *end;

	/* These characters leave no room for "inf", "nan", "0x1" and spaces */
	if (!*s || s[strspn(s, "+-.0123456789eE")])
		return -EINVAL;

	v = strtod(s, &end);
	if (*end)
		return -EINVAL;
	if (!isfinite(v))
		return -ERANGE;

	*value = v;
	return 0;
}

int parse_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0;
	uint64_t v;
	int ret = take_digits(&s, &v);

	if (ret == -EINVAL)
		return ret;

	if (*s) {
		const char *unit = strchr(units, toupper((unsigned char)*s));

		if (unit) {
			shift = 10 * (unsigned int)(unit - units + 1);
			s++;
		}
		if (strcasecmp(s, "B") && !(shift && !strcasecmp(s, "iB")) &&
		    *s)
			return -EINVAL;
	}

	if (ret || v > UINT64_MAX >> shift)
		return -ERANGE;

	*bytes = v << shift;
	return 0;
}

static int time_unit(const char *s, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "",	1 },
		{ "ns",	1 },
		{ "us",	1000 },
		{ "ms",	1000000 },
		{ "s",	1000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(s, units[i].name)) {
			*ns = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_time_ns(const char *s, uint64_t *ns)
{
	const char *digits = NULL;
	size_t decimals = 0;
	uint64_t whole, unit, scale;
	int ret = take_digits(&s, &whole);

	if (ret == -EINVAL)
		return ret;

	if (*s == '.') {
		digits = ++s;
		decimals = strspn(s, "0123456789");
		if (!decimals)
			return -EINVAL;
		s += decimals;
	}

	if (time_unit(s, &unit))
		return -EINVAL;
	if (ret || __builtin_mul_overflow(whole, unit, &whole))
		return -ERANGE;

	/* Digit by digit, so that "0.1us" is 100 and not what a double makes of it */
	scale = unit;
	for (size_t i = 0; i < decimals; i++) {
		uint64_t digit = (uint64_t)(digits[i] - '0');

		if (digit && scale % 10)
			return -EINVAL;
		scale /= 10;
		if (__builtin_add_overflow(whole, digit * scale, &whole))
			return -ERANGE;
	}

	*ns = whole;
	return 0;
}

int parse_cpu_list(const char *s, cpu_set_t *set)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (;;) {
		uint64_t first, last;
		int ret = take_digits(&s, &first);

		if (ret)
			return ret;

		last = first;
		if (*s == '-') {
			s++;
			ret = take_digits(&s, &last);
			if (ret)
				return ret;
			if (last < first)
				return -EINVAL;
		}
		if (last >= CPU_SETSIZE)
			return -ERANGE;

		for (uint64_t cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, &cpus);

		if (!*s)
			break;
		if (*s++ != ',')
			return -EINVAL;
	}

	*set = cpus;
	return 0;
}

void format_cpu_list(const cpu_set_t *set, char *buf, size_t len)
{
	size_t at = 0;

	if (len)
		buf[0] = '\0';

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int first = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, set))
			cpu++;

		if (at < len)
			at += (size_t)snprintf(buf + at, len - at, "%s%d",
					       at ? "," : "", first);
		if (cpu > first && at < len)
			at += (size_t)snprintf(buf + at, len - at, "-%d", cpu);
	}
}
