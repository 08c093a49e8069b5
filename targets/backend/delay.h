/* SPDX-License-Identifier: GPL-2.0-only */
/* The service time of the emulated device: one draw for each request */
#ifndef TARGETS_BACKEND_DELAY_H
#define TARGETS_BACKEND_DELAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* What delay_parse() takes, in words for messages and help */
#define DELAY_SYNTAX \
	"none, fixed:T, uniform:A,B, exp:MEAN or lognormal:MEDIAN,SIGMA"

/* No parameter may be longer than this, and no draw than ten times this (ns) */
#define DELAY_MAX_NS	UINT64_C(100000000000)

enum delay_kind {
	DELAY_NONE,
	DELAY_FIXED,
	DELAY_UNIFORM,
	DELAY_EXP,
	DELAY_LOGNORMAL,
};

/**
 * struct delay - A distribution of service times
 * @kind:	Which one; DELAY_NONE asks for no delay at all
 * @ns:		Fixed time, lower bound, mean or median
 * @hi_ns:	Upper bound of uniform, included
 * @sigma:	Standard deviation of the logarithm, for lognormal
 */
struct delay {
	enum delay_kind kind;
	uint64_t ns;
	uint64_t hi_ns;
	double sigma;
};

/**
 * delay_parse() - Read a distribution
 * @s:	Text, as in DELAY_SYNTAX; times take ns, us, ms and s
 * @d:	Result, untouched on failure
 *
 * Return: 0, -EINVAL, or -ERANGE for a time over DELAY_MAX_NS, a sigma over 10,
 * or an upper bound below the lower one
 */
int delay_parse(const char *s, struct delay *d);

/**
 * delay_format() - Write a distribution as delay_parse() reads it, times in ns
 * @d:		Distribution
 * @buf:	Result, 64 bytes are always enough
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
