/* SPDX-License-Identifier: GPL-2.0-only */
/* The service time of the emulated device */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "targets/backend/delay.h"

#define SIGMA_MAX	10.0

static const struct {
	const char *name;
	unsigned int args;
} kinds[] = {
	[DELAY_NONE]		= { "none", 0 },
	[DELAY_FIXED]		= { "fixed", 1 },
	[DELAY_UNIFORM]		= { "uniform", 2 },
	[DELAY_EXP]		= { "exp", 1 },
	[DELAY_LOGNORMAL]	= { "lognormal", 2 },
};

#define NUM_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static int parse_delay_time(const char *s, uint64_t *ns)
{
	uint64_t v;
	int ret = parse_time_ns(s, &v);

	if (ret)
		return ret;
	if (v > DELAY_MAX_NS)
		return -ERANGE;
	*ns = v;
	return 0;
}

static int parse_second(const char *s, struct delay *d)
{
	int ret;

	if (d->kind == DELAY_LOGNORMAL) {
		ret = parse_double(s, &d->sigma);
		if (!ret && (d->sigma < 0 || d->sigma > SIGMA_MAX))
			ret = -ERANGE;
		return ret;
	}

	ret = parse_delay_time(s, &d->hi_ns);
	if (!ret && d->hi_ns < d->ns)
		ret = -ERANGE;
	return ret;
}

int delay_parse(const char *s, struct delay *d)
{
	struct delay new = { .kind = DELAY_NONE };
	size_t len = strcspn(s, ":");
	char text[128], *second;
	unsigned int i;
	int ret;

	for (i = 0; i < NUM_KINDS; i++) {
		if (strlen(kinds[i].name) == len &&
		    !memcmp(s, kinds[i].name, len))
			break;
	}
	if (i == NUM_KINDS || !kinds[i].args != !s[len])
		return -EINVAL;

	new.kind = i;
	if (kinds[i].args) {
		if (strlen(s + len + 1) >= sizeof(text))
			return -EINVAL;
		strcpy(text, s + len + 1);

		second = strchr(text, ',');
		if ((kinds[i].args == 2) != !!second)
			return -EINVAL;
		if (second)
			*second++ = '\0';

		ret = parse_delay_time(text, &new.ns);
		if (!ret && second)
			ret = parse_second(second, &new);
		if (ret)
			return ret;
	}

	*d = new;
	return 0;
}

void delay_format(const struct delay *d, char *buf, size_t len)
{
	const char *name = kinds[d->kind].name;

	switch (d->kind) {
	case DELAY_NONE:
		snprintf(buf, len, "%s", name);
		break;
	case DELAY_FIXED:
	case DELAY_EXP:
		snprintf(buf, len, "%s:%" PRIu64, name, d->ns);
		break;
	case DELAY_UNIFORM:
		snprintf(buf, len, "%s:%" PRIu64 ",%" PRIu64, name, d->ns,
			 d->hi_ns);
		break;
	case DELAY_LOGNORMAL:
		snprintf(buf, len, "%s:%" PRIu64 ",%.9g", name, d->ns,
			 d->sigma);
		break;
	}
}

/* A draw from the normal distribution with mean 0 and deviation 1 (Box-Muller) */
static double draw_normal(struct rng *r)
{
	/* 1 - u is never 0, so its logarithm is finite */
	double radius = sqrt(-2.0 * log(1.0 - rng_double(r)));

	return radius * cos(2.0 * M_PI * rng_double(r));
}

static uint64_t round_ns(double ns)
{
	/* The tail of a wide distribution must not leave the integer's range */
	return (uint64_t)(fmin(ns, 10.0 * (double)DELAY_MAX_NS) + 0.5);
}

uint64_t delay_draw(const struct delay *d, struct rng *r)
{
	switch (d->kind) {
	case DELAY_NONE:
		break;
	case DELAY_FIXED:
		return d->ns;
	case DELAY_UNIFORM:
		return d->ns + rng_below(r, d->hi_ns - d->ns + 1);
	case DELAY_EXP:
		return round_ns((double)d->ns * -log(1.0 - rng_double(r)));
	case DELAY_LOGNORMAL:
		return round_ns((double)d->ns * exp(d->sigma * draw_normal(r)));
	}
	return 0;
}
