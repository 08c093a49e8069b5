/* SPDX-License-Identifier: GPL-2.0-only */
/* The service time of the emulated device: one draw for each request */
#ifndef TARGETS_BACKEND_DELAY_H
#define TARGETS_BACKEND_DELAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* What delay_parse() takes, in words for messages and help */
#define DELAY_SYNTAX \
	"none, fixed:T, uniform:A,B, exp:MEAN, lognormal:MEDIAN,SIGMA or file:PATH"

/* No parameter may be longer than this, and no draw than ten times this (ns) */
#define DELAY_MAX_NS	UINT64_C(100000000000)

enum delay_kind {
	DELAY_NONE,
	DELAY_FIXED,
	DELAY_UNIFORM,
	DELAY_EXP,
	DELAY_LOGNORMAL,
	DELAY_FILE,
};

/* Most times in a file, and the longest path of one */
#define DELAY_TIMES_MAX	65536
#define DELAY_PATH_MAX	1024

/**
 * struct delay_table - The distribution that a file holds: as many are below each time as above the next
 * @next:	Another one that was read
 * @path:	The file
 * @count:	Number of @ns, 2 or more
 * @ns:		Times, the shortest first
 */
struct delay_table {
	struct delay_table *next;
	char path[DELAY_PATH_MAX];
	unsigned int count;
	uint64_t ns[];
};

/**
 * struct delay - A distribution of service times
 * @kind:	Which one; DELAY_NONE asks for no delay at all
 * @ns:		Fixed time, lower bound, mean or median
 * @hi_ns:	Upper bound of uniform, included
 * @sigma:	Standard deviation of the logarithm, for lognormal
 * @table:	Times to draw from, for a file; never freed
 */
struct delay {
	enum delay_kind kind;
	uint64_t ns;
	uint64_t hi_ns;
	double sigma;
	const struct delay_table *table;
};

/**
 * delay_parse() - Read a distribution
 * @s:	Text, as in DELAY_SYNTAX; times take ns, us, ms and s
 * @d:	Result, untouched on failure
 *
 * A file has a time a line, equally likely each, in any order; between two neighbours all times are equally likely. It is
 * read once, whoever names it again.
 *
 * Return: 0, -EINVAL (also for a file with anything else in it, or less than two times), -ERANGE for a time over
 * DELAY_MAX_NS, a sigma over 10, an upper bound below the lower one or more than DELAY_TIMES_MAX times, or the
 * error of opening or reading the file
 */
int delay_parse(const char *s, struct delay *d);

/**
 * delay_format() - Write a distribution as delay_parse() reads it, times in ns
 * @d:		Distribution
 * @buf:	Result, 64 bytes are always enough without a file, DELAY_PATH_MAX + 8 with one
 * @len:	Size of @buf in bytes
 */
void delay_format(const struct delay *d, char *buf, size_t len);

/**
 * delay_draw() - Draw the service time of a request
 * @d:	Distribution
 * @r:	The calling thread's generator
 *
 * Return: nanoseconds, 0 for DELAY_NONE
 */
uint64_t delay_draw(const struct delay *d, struct rng *r);

#endif /* TARGETS_BACKEND_DELAY_H */
