/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/crowd.h"

#define LOOK_NS		10000000

/*
 * A thread that shares its CPU with other busy ones is switched away from for every few ms of
 * CPU time that it gets. Where it has the CPU to itself, kernel threads do that far less often.
 */
#define CPU_NS_PER_SWITCH	5000000

/* A yield that took longer has let somebody run: the call alone is far shorter. */
#define YIELD_NS		1500

/* Others that ran for so long without bringing what is waited for are too many to yield to. */
#define GIVEN_MAX_NS		20000

/* Somebody who passes by costs the first of these, a crowd soon the last. */
#define REST_MIN_NS		1000000
#define REST_MAX_NS		80000000

static void look(struct crowd *c)
{
	struct rusage ru;
	uint64_t cpu_ns, switches;

	getrusage(RUSAGE_THREAD, &ru);
	cpu_ns = timeval_ns(&ru.ru_utime) + timeval_ns(&ru.ru_stime);
	switches = ru.ru_nivcsw + c->rests;
	c->crowded = switches > c->switches &&
		     (switches - c->switches) * CPU_NS_PER_SWITCH >= cpu_ns - c->cpu_ns;
	c->switches = switches;
	c->cpu_ns = cpu_ns;
}

static void give_way(struct crowd *c, uint64_t now_ns)
{
	uint64_t took;

	c->yields++;
	sched_yield();
	took = clock_ns() - now_ns;
	if (took > YIELD_NS)
		c->given_ns += took;
}

static void begin_rest(struct crowd *c, uint64_t now_ns)
{
	c->resting = true;
	c->rest_ns = c->rest_ns * 2 > REST_MIN_NS ? c->rest_ns * 2 : REST_MIN_NS;
	if (c->rest_ns > REST_MAX_NS)
		c->rest_ns = REST_MAX_NS;
	c->rest_until_ns = now_ns + c->rest_ns;
}

/**
 * crowd_look - a polling thread has found nothing for a while: let others run if there are any
 * @c: the thread's, zeroed in the beginning
 * @now_ns: clock_ns()
 * @may_rest: the thread can sleep until what it waits for is there
 *
 * To be called every few microseconds of polling in vain when @c->crowded, and now and
 * then when not. A yield that lets somebody run counts as being switched away from, so the
 * same figure tells when the others have gone.
 *
 * A thread that yields keeps its share of the CPU: of a hundred of them, the one that all the
 * others wait for gets a hundredth. So beyond a few, whoever may sleep must.
 *
 * Return: whether to sleep; never without @may_rest.
 */
bool crowd_look(struct crowd *c, uint64_t now_ns, bool may_rest)
{
	if (now_ns - c->checked_ns >= LOOK_NS) {
		look(c);
		c->checked_ns = now_ns;
	}
	if (!c->crowded || now_ns >= c->rest_until_ns)
		c->resting = false;
	if (!c->crowded)
		return false;
	if (!c->resting) {
		give_way(c, now_ns);
		if (may_rest && c->given_ns > GIVEN_MAX_NS)
			begin_rest(c, now_ns);
	}
	c->rests += c->resting;
	return c->resting;
}
