/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a wait that waits have always lasted is slept through, and the rest is polled. Linux's hybrid
 * polling of block devices slept for half of the mean (blk_mq_poll_nsecs(), until 5.18).
 */
#include <stdbool.h>
#include "base/wait-forecast.h"

/* Waits after which sleep and window are computed anew, and after which old waits lose half their weight */
#define WAITS_PER_LOOK	64
#define WAITS_PER_FADE	1024

/* Quarters of a percent of the waits that are shorter than the sleep, and longer than sleep and window */
#define SHORTER	20
#define LONGER	20

/* A shorter sleep is not worth two system calls. */
#define SLEEP_MIN_NS	4000

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int octave = 63 - (unsigned int)__builtin_clzll(ns | 1);

	if (octave < FORECAST_FIRST)
		return 0;
	if (octave >= FORECAST_FIRST + FORECAST_OCTAVES)
		return FORECAST_BUCKETS - 1;
	return 1 + (octave - FORECAST_FIRST) * 8 + (unsigned int)(ns >> (octave - 3) & 7);
}

/* The shortest wait of a bucket; that of the one after the last is the end of all. */
static uint64_t bucket_lo(unsigned int i)
{
	return i ? (uint64_t)(8 + (i - 1) % 8) << (FORECAST_FIRST + (i - 1) / 8 - 3) : 0;
}

/* The bucket below which @quarters/4 % of all waits are */
static unsigned int quantile(const struct wait_forecast *f, unsigned int quarters)
{
	uint64_t below = 0;

	for (unsigned int i = 0; i < FORECAST_BUCKETS; i++) {
		below += f->count[i];
		if (below * 400 > (uint64_t)f->total * quarters)
			return i;
	}
	return FORECAST_BUCKETS - 1;
}

static void fade(struct wait_forecast *f)
{
	f->total = 0;
	for (unsigned int i = 0; i < FORECAST_BUCKETS; i++) {
		f->count[i] /= 2;
		f->total += f->count[i];
	}
}

/*
 * Poll from where waits begin to end to where nearly all have, if that is no longer than
 * allowed; else most polling would find nothing, and the thread sleeps at once.
 */
static void decide(struct wait_forecast *f, uint64_t max_ns, uint64_t late_ns)
{
	uint64_t first = bucket_lo(quantile(f, SHORTER)), last = bucket_lo(quantile(f, 400 - LONGER) + 1);
	uint64_t early = late_ns + late_ns / 4;

	f->sleep_ns = first > early + SLEEP_MIN_NS ? first - early : 0;
	f->window_ns = last - f->sleep_ns;
	if (f->window_ns > max_ns + early)
		f->sleep_ns = f->window_ns = 0;
}

/**
 * wait_forecast_learn - take down how long a wait was, and once in a while decide anew how to spend the next
 * @f: of this kind of waits; zeroed in the beginning, or with what is to hold until enough is known
 * @waited_ns: how long the wait was, in ns
 * @max_ns: longest polling after a sleep, without the time that the sleep ends earlier as it may end late
 * @late_ns: how late sleeps end, in ns
 */
void wait_forecast_learn(struct wait_forecast *f, uint64_t waited_ns, uint64_t max_ns,
			 uint64_t late_ns)
{
	f->count[bucket_of(waited_ns)]++;
	if (++f->total % WAITS_PER_LOOK)
		return;
	decide(f, max_ns, late_ns);
	if (f->total >= WAITS_PER_FADE)
		fade(f);
}
