/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hybrid: sleep for the part of a wait that waits have always lasted, then poll for the rest,
 * as Linux's hybrid polling of block devices does for half of the mean
 *
 * Waits with requests in flight are for the device, those without for the driver, so each
 * kind has a histogram of its own. The sleep is armed: work that comes early ends it.
 */

#include "targets/iothread/iothread.h"

/* Waits after which sleep and window are computed anew, and after which old waits lose half their weight */
#define WAITS_PER_LOOK	64
#define WAITS_PER_FADE	1024

/* Quarters of a percent of the waits that are shorter than the sleep, and longer than sleep and window */
#define SHORTER	20
#define LONGER	20

/* A shorter sleep is not worth two system calls. */
#define SLEEP_MIN_NS	4000

/* How late a sleep ends until some have told */
#define LATE_NS	10000

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int octave = 63 - (unsigned int)__builtin_clzll(ns | 1);

	if (octave < POLL_WAITS_FIRST)
		return 0;
	if (octave >= POLL_WAITS_FIRST + POLL_WAITS_OCTAVES)
		return POLL_WAITS_BUCKETS - 1;
	return 1 + (octave - POLL_WAITS_FIRST) * 8 + (unsigned int)(ns >> (octave - 3) & 7);
}

/* The shortest wait of a bucket; that of the one after the last is the end of all. */
static uint64_t bucket_lo(unsigned int i)
{
	return i ? (uint64_t)(8 + (i - 1) % 8) << (POLL_WAITS_FIRST + (i - 1) / 8 - 3) : 0;
}

/* The bucket below which @quarters/4 % of all waits are */
static unsigned int quantile(const struct poll_waits *w, unsigned int quarters)
{
	uint64_t below = 0;

	for (unsigned int i = 0; i < POLL_WAITS_BUCKETS; i++) {
		below += w->count[i];
		if (below * 400 > (uint64_t)w->total * quarters)
			return i;
	}
	return POLL_WAITS_BUCKETS - 1;
}

static void fade(struct poll_waits *w)
{
	w->total = 0;
	for (unsigned int i = 0; i < POLL_WAITS_BUCKETS; i++) {
		w->count[i] /= 2;
		w->total += w->count[i];
	}
}

/*
 * Poll from where waits begin to end to where nearly all have, if that is no longer than
 * allowed; else most polling would find nothing, and the thread sleeps at once.
 */
static void decide(const struct poll_policy *p, struct poll_waits *w)
{
	uint64_t first = bucket_lo(quantile(w, SHORTER)), last = bucket_lo(quantile(w, 400 - LONGER) + 1);
	uint64_t early = p->late_ns + p->late_ns / 4;

	w->sleep_ns = first > early + SLEEP_MIN_NS ? first - early : 0;
	w->window_ns = last - w->sleep_ns;
	if (w->window_ns > p->config.max_ns + early)
		w->sleep_ns = w->window_ns = 0;
}

static void init(struct poll_policy *p)
{
	p->clocked = true;
	p->late_ns = LATE_NS;
	for (int i = 0; i < 2; i++)
		p->waits[i].window_ns = p->config.max_ns;
	p->window_ns = p->config.max_ns;
}

static void begin(struct poll_policy *p, unsigned int in_flight)
{
	p->waiting = &p->waits[in_flight > 0];
	p->window_ns = p->waiting->window_ns;
	p->sleep_ns = p->waiting->sleep_ns;
}

static void learn(struct poll_policy *p, struct event_source *const *polled, unsigned int nr,
		  uint64_t waited_ns)
{
	struct poll_waits *w = p->waiting;

	(void)polled;
	(void)nr;
	w->count[bucket_of(waited_ns)]++;
	if (++w->total % WAITS_PER_LOOK)
		return;
	decide(p, w);
	if (w->total >= WAITS_PER_FADE)
		fade(w);
}

const struct poll_policy_ops poll_hybrid = {
	.init = init,
	.at_once = poll_source_at_once,
	.begin = begin,
	.learn = learn,
};
