/* SPDX-License-Identifier: GPL-2.0-only */
/* The service time of the emulated device */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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
	[DELAY_FILE]		= { "file", 1 },
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

/* All files that were read, so that whoever copies a struct delay need not know of tables */
static struct delay_table *tables;
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Add the time in @line, if there is any; @t may move. */
static int add_time(struct delay_table **t, char *line)
{
	struct delay_table *grown;
	uint64_t ns;
	int ret;

	line[strcspn(line, " \t\r\n#")] = '\0';
	if (!*line)
		return 0;
	ret = parse_delay_time(line, &ns);
	if (ret)
		return ret;
	if ((*t)->count == DELAY_TIMES_MAX)
		return -ERANGE;
	/* Room is doubled whenever the count comes to a power of two. */
	if (!((*t)->count & ((*t)->count - 1))) {
		grown = realloc(*t, sizeof(**t) + 2 * ((*t)->count + 1) * sizeof(ns));
		if (!grown)
			return -ENOMEM;
		*t = grown;
	}
	(*t)->ns[(*t)->count++] = ns;
	return 0;
}

static int read_times(FILE *f, struct delay_table **t)
{
	char line[128];
	int ret = 0;

	while (!ret && fgets(line, sizeof(line), f))
		ret = add_time(t, line);
	if (!ret && ferror(f))
		ret = -EIO;
	if (!ret && (*t)->count < 2)
		ret = -EINVAL;
	return ret;
}

static int load_table(const char *path, struct delay_table **table)
{
	struct delay_table *t = calloc(1, sizeof(*t) + 2 * sizeof(uint64_t));
	FILE *f = fopen(path, "re");
	int ret = !f ? -errno : !t ? -ENOMEM : read_times(f, &t);

	if (f)
		fclose(f);
	if (ret) {
		free(t);
		return ret;
	}
	qsort(t->ns, t->count, sizeof(t->ns[0]), compare_ns);
	strcpy(t->path, path);
	*table = t;
	return 0;
}

static int find_table(const char *path, const struct delay_table **table)
{
	struct delay_table *t;
	int ret = 0;

	if (!*path || strlen(path) >= DELAY_PATH_MAX)
		return -EINVAL;
	pthread_mutex_lock(&tables_lock);
	for (t = tables; t && strcmp(t->path, path); t = t->next)
		;
	if (!t) {
		ret = load_table(path, &t);
		if (!ret) {
			t->next = tables;
			tables = t;
		}
	}
	pthread_mutex_unlock(&tables_lock);
	if (!ret)
		*table = t;
	return ret;
}

static uint64_t draw_from(const struct delay_table *t, struct rng *r)
{
	double at = rng_double(r) * (t->count - 1);
	unsigned int i = (unsigned int)at;

	return t->ns[i] + (uint64_t)((at - i) * (double)(t->ns[i + 1] - t->ns[i]) + 0.5);
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
	if (i == DELAY_FILE) {
		ret = find_table(s + len + 1, &new.table);
		if (ret)
			return ret;
	} else if (kinds[i].args) {
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
	case DELAY_FILE:
		snprintf(buf, len, "%s:%s", name, d->table->path);
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
	case DELAY_FILE:
		return draw_from(d->table, r);
	}
	return 0;
}
