/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Polling without end, and what it takes. With many sources most are idle, and a look at each in every
 * pass would be most of a request's time. So those that have been idle for HOT_NS are cold: a pass
 * looks at all others, and at a few of these, in turn. A cold source is looked at
 *
 * - in turn, COLD_LOOKS of them a pass, which is what counts while the thread has nothing to do;
 * - within 4 periods, plus one turn, however long the turns of the others are. A period is as long
 *   as COLD_EACH_NS for each of them, and COLD_NS at least: the more there are, the longer a look
 *   at all of them takes, and the smaller the part of the time that it may have.
 *
 * It is half of that while no source becomes hot or cold: one that does may send another one from
 * where its turn was next to where its turn has been.
 *
 * With work it is hot at once. Up to FEW_SOURCES sources are never cold.
 */

#include <limits.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "targets/iothread/zones.h"

/* Passes that found nothing before the thread asks whether others want its CPU */
#define PASSES_PER_LOOK		1024
#define PASSES_CROWDED		16

/* The handlers of one turn in so many are timed: a prime, lest it keeps step with them. */
#define TURNS_PER_TIMED		127

#define FEW_SOURCES		8
#define HOT_NS			2000000
#define COLD_LOOKS		2
#define COLD_NS			16384
#define COLD_EACH_NS		256

/**
 * iothread_count_polling - bring the time spent polling without end up to date
 * @it: the iothread; called in it when that begins or ends, and for a look at its figures
 *
 * A thread that polls without end reads no clock for it. Its time is its handlers', which some
 * turns tell, or it is that of polling; the CPU time given to others counts as well.
 */
void iothread_count_polling(struct iothread *it)
{
	bool forever = it->policy.window_ns == POLL_FOREVER;
	uint64_t now, spent;

	if (!forever && !it->forever_since)
		return;
	now = clock_ns();
	spent = it->forever_since ? now - it->forever_since : 0;
	if (spent > it->worked_ns) {
		counter_add(&it->stats.poll_ns, spent - it->worked_ns);
		it->worked_ns = 0;
	} else {
		it->worked_ns -= spent;
	}
	if (forever != !!it->forever_since)
		it->untimed = forever ? TURNS_PER_TIMED : UINT_MAX;
	it->forever_since = forever ? now : 0;
}

/* Sources without work for long are looked at less often. */
static void cool(struct iothread *it)
{
	if (it->nr_polled <= FEW_SOURCES)
		return;
	for (unsigned int i = it->nr_hot; i-- > 0; ) {
		if (it->now - it->source[i]->active_ns >= HOT_NS)
			zone_exchange(it, i, --it->nr_hot);
	}
}

/**
 * iothread_time_work - do a turn's work and take the time, for a figure
 * @it: the iothread; called in it
 * @work: what does it
 *
 * What reading the clock takes is not part of it.
 */
void iothread_time_work(struct iothread *it, void (*work)(struct iothread *it))
{
	uint64_t before = clock_ns(), start = clock_ns(), end;

	work(it);
	end = clock_ns();
	if (!it->forever_since)
		return;
	it->untimed = TURNS_PER_TIMED;
	if (end - start > start - before)
		it->worked_ns += (end - start - (start - before)) * TURNS_PER_TIMED;
	it->now = end;
	cool(it);
}

static bool look_at(struct iothread *it, struct event_source *s)
{
	if (likely(!s->ops->poll(s, 0)))
		return false;
	mark_ready(it, s);
	return true;
}

/* The next @nr of those that are cold, starting over after the last */
static bool look_at_cold(struct iothread *it, unsigned int nr)
{
	bool found = false;

	it->looked_cold += nr;
	while (nr--) {
		if (it->next_cold < it->nr_hot || it->next_cold >= it->nr_polled)
			it->next_cold = it->nr_hot;
		found |= look_at(it, it->source[it->next_cold++]);
	}
	return found;
}

/* Once a turn: those that a whole period of passes has left out */
static bool look_at_late_cold(struct iothread *it)
{
	uint64_t cold = it->nr_polled - it->nr_hot;
	bool found = false;

	it->now = clock_ns();
	if (it->now - it->cold_ns < COLD_NS || it->now - it->cold_ns < cold * COLD_EACH_NS)
		return false;
	if (it->looked_cold < cold)
		found = look_at_cold(it, cold - it->looked_cold);
	it->looked_cold = 0;
	it->cold_ns = it->now;
	return found;
}

static bool look_at_hot(struct iothread *it)
{
	bool found = false;

	for (unsigned int i = 0; i < it->nr_hot; i++)
		found |= look_at(it, it->source[i]);
	return found;
}

static bool one_pass(struct iothread *it)
{
	bool found = look_at_hot(it);

	if (it->nr_hot < it->nr_polled)
		found |= look_at_cold(it, COLD_LOOKS);
	return found;
}

/* Nothing has come for many passes: there is time for what takes a clock. */
static void pause_for_others(struct iothread *it)
{
	it->now = clock_ns();
	cool(it);
	crowd_look(&it->crowd, it->now, false);
	counter_set(&it->stats.yields, it->crowd.yields);
}

/**
 * iothread_poll_for_ever - poll until a source has work
 * @it: the iothread; called in it
 */
void iothread_poll_for_ever(struct iothread *it)
{
	unsigned int passes = 0;
	bool found = it->nr_hot < it->nr_polled && look_at_late_cold(it);

	while (!(one_pass(it) || found)) {
		cpu_relax();
		if (++passes < (it->crowd.crowded ? PASSES_CROWDED : PASSES_PER_LOOK))
			continue;
		passes = 0;
		pause_for_others(it);
	}
	counter_add(&it->stats.poll_hits, 1);
}
