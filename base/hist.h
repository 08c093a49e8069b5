/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A log-linear histogram: every power of two is divided into 16 buckets of the
 * same width, so a bucket is never wider than 1/16 of the values in it, and
 * values below 32 have a bucket each. One thread counts, any thread reads
 * meanwhile: each count is exact, but they are not all of one instant.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#include "base/counter.h"

#define HIST_SUB_BITS	4
#define HIST_SUB	(1u << HIST_SUB_BITS)
/* Values from 2^40 on (18 minutes in ns) go to the last bucket */
#define HIST_MAX_BITS	40
#define HIST_BUCKETS	((HIST_MAX_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

/* struct hist - Counts by bucket; all zeros is an empty histogram */
struct hist {
	counter_t count[HIST_BUCKETS];
};

/**
 * hist_index() - The bucket of a value
 * @v:	Value
 *
 * Return: index below HIST_BUCKETS
 */
static inline unsigned int hist_index(uint64_t v)
{
	const uint64_t max = (UINT64_C(1) << HIST_MAX_BITS) - 1;
	unsigned int shift;

	v = v < max ? v : max;
	/* How far to shift for five bits to remain; 0 for small values */
	shift = 63 - HIST_SUB_BITS - (unsigned int)__builtin_clzll(v | HIST_SUB);
	return shift * HIST_SUB + (unsigned int)(v >> shift);
}

/**
 * hist_lo() - The smallest value of a bucket
 * @i:	Index; HIST_BUCKETS gives the end of the last bucket
 *
 * Return: value
 */
static inline uint64_t hist_lo(unsigned int i)
{
	if (i < HIST_SUB)
		return i;
	return (uint64_t)(HIST_SUB + i % HIST_SUB) << (i / HIST_SUB - 1);
}

/**
 * hist_count() - Read one count, from any thread
 * @h:	Histogram
 * @i:	Index
 *
 * Return: number of values counted in that bucket
 */
static inline uint64_t hist_count(const struct hist *h, unsigned int i)
{
	return counter_get(&h->count[i]);
}

/**
 * hist_add() - Count a value; by one thread only
 * @h:	Histogram
 * @v:	Value
 */
static inline void hist_add(struct hist *h, uint64_t v)
{
	counter_add(&h->count[hist_index(v)], 1);
}

#endif /* BASE_HIST_H */
